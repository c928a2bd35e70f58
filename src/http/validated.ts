/** A value that fits its schema, or a Problem that says which field does not and why. */
import type { z } from 'zod';
import { Problem, type ProblemCode, withoutStackTraces } from '../base/errors.ts';

const issuesShownMax = 10;
/** Keys and values of the caller may be part of either, at any length. */
const textShownMax = 200;

export function validated<Value>(schema: z.ZodType<Value>, value: unknown, code: ProblemCode): Value {
  const result = withoutStackTraces(() => schema.safeParse(value));
  if (result.success) return result.data;
  const errors = result.error.issues.slice(0, issuesShownMax).map(({ path, message }) => ({
    field: shortened(path.map(String).join('.')),
    message: shortened(message),
  }));
  const [first] = errors;
  const where = first === undefined || first.field === '' ? 'The request' : `“${first.field}”`;
  throw new Problem(code, {
    detail: `${where}: ${first?.message ?? 'is not valid'}.`,
    fields: { errors },
  });
}

function shortened(text: string): string {
  // A cut may leave half a character, which nobody could read.
  return text.length <= textShownMax ? text : `${text.slice(0, textShownMax).toWellFormed()}…`;
}
