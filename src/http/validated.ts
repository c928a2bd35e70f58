/** A value that matches its schema, or a Problem that says which fields do not and why. */
import type { z } from 'zod';
import { closestName } from '../base/did-you-mean.ts';
import { Problem, type ProblemCode, withoutStackTraces } from '../base/errors.ts';
import { fieldsOf } from './spellings.ts';

const issuesShownMax = 10;
/** The path and the message may contain keys and values of the caller, of any length. */
const textShownMax = 200;

interface FieldError {
  readonly field: string;
  readonly message: string;
}

export function validated<Value>(schema: z.ZodType<Value>, value: unknown, code: ProblemCode): Value {
  const result = withoutStackTraces(() => schema.safeParse(value));
  if (result.success) return result.data;
  const errors = result.error.issues.flatMap(issue => errorsOf(issue, schema)).slice(0, issuesShownMax);
  const [first, ...others] = errors;
  const where = first === undefined || first.field === '' ? 'The request' : `“${first.field}”`;
  const more = others.length === 0 ? '' : ` There is more in “errors”.`;
  throw new Problem(code, {
    detail: `${where}: ${first?.message ?? 'is not valid'}.${more}`,
    fields: { ...(first !== undefined && first.field !== '' && { field: first.field }), errors },
  });
}

function errorsOf(issue: z.core.$ZodIssue, schema: z.ZodType): FieldError[] {
  const path = issue.path.map(String);
  if (issue.code !== 'unrecognized_keys')
    return [{ field: shortened(path.join('.')), message: shortened(issue.message) }];
  const known = [...(fieldsOf(schemaAt(schema, path)) ?? new Map()).keys()];
  return issue.keys.slice(0, issuesShownMax).map(key => {
    const meant = closestName(key, known);
    const suggestion = meant === undefined ? '' : `; did you mean “${[...path, meant].join('.')}”?`;
    return { field: shortened([...path, key].join('.')), message: `is not a known field${suggestion}` };
  });
}

/** The schema at a path, as far as the path goes through fields. */
function schemaAt(schema: z.ZodType, path: readonly string[]): z.ZodType {
  return path.reduce((within, field) => fieldsOf(within)?.get(field) ?? within, schema);
}

function shortened(text: string): string {
  // A cut may leave half a character, which is unreadable.
  return text.length <= textShownMax ? text : `${text.slice(0, textShownMax).toWellFormed()}…`;
}
