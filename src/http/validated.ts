/** A value that fits its schema, or a Problem that says which field does not and why. */
import type { z } from 'zod';
import { Problem, type ProblemCode } from '../base/errors.ts';

const issuesShownMax = 10;

export function validated<Value>(schema: z.ZodType<Value>, value: unknown, code: ProblemCode): Value {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const errors = result.error.issues.slice(0, issuesShownMax).map(({ path, message }) => ({
    field: path.map(String).join('.'),
    message,
  }));
  const [first] = errors;
  const where = first === undefined || first.field === '' ? 'The request' : `“${first.field}”`;
  throw new Problem(code, {
    detail: `${where}: ${first?.message ?? 'is not valid'}.`,
    fields: { errors },
  });
}
