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
  const result = withoutStackTraces(() => schema.safeParse(value, { error: messageOf }));
  if (result.success) return result.data;
  const errors = errorsOf(result.error.issues, schema);
  const [first, ...others] = errors;
  const where = first === undefined || first.field === '' ? 'The request' : `“${first.field}”`;
  const more = others.length === 0 ? '' : ` There is more in “errors”.`;
  throw new Problem(code, {
    detail: `${sentence(where, first?.message ?? 'is not valid')}${more}`,
    fields: { ...(first !== undefined && first.field !== '' && { field: first.field }), errors },
  });
}

/** A misspelled field explains why the one it stands for is missing, so it comes first and replaces that error. */
function errorsOf(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): FieldError[] {
  const unknown = issues.flatMap(issue =>
    issue.code === 'unrecognized_keys' ? unknownFields(issue, schema) : [],
  );
  const meant = new Set(unknown.map(({ suggestion }) => suggestion));
  const others = issues
    .filter(({ code }) => code !== 'unrecognized_keys')
    .map(({ path, message }) => ({ field: path.join('.'), message }))
    .filter(({ field, message }) => message !== missing || !meant.has(field));
  return [...unknown, ...others]
    .slice(0, issuesShownMax)
    .map(({ field, message }) => ({ field: shortened(field), message: shortened(message) }));
}

function unknownFields(
  { path, keys }: z.core.$ZodIssueUnrecognizedKeys,
  schema: z.ZodType,
): (FieldError & { readonly suggestion: string | undefined })[] {
  const parents = path.map(String);
  const known = [...(fieldsOf(schemaAt(schema, parents)) ?? new Map()).keys()];
  return keys.slice(0, issuesShownMax).map(key => {
    const closest = closestName(key, known);
    const suggestion = closest === undefined ? undefined : [...parents, closest].join('.');
    const question = suggestion === undefined ? '' : `; did you mean “${suggestion}”?`;
    return { field: [...parents, key].join('.'), message: `is not a known field${question}`, suggestion };
  });
}

const missing = 'is required';
const typeNames: Readonly<Record<string, string>> = {
  array: 'an array',
  boolean: 'true or false',
  int: 'a whole number',
  number: 'a number',
  object: 'an object',
  record: 'an object',
  string: 'a string',
};
const units: Readonly<Record<string, string>> = { array: ' items', string: ' characters' };

/** What is wrong, as the end of a sentence about the field; undefined for the library's own message. */
function messageOf(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.input === undefined && (issue.code === 'invalid_type' || issue.code === 'invalid_value'))
    return missing;
  switch (issue.code) {
    case 'invalid_type': {
      const name = typeNames[issue.expected];
      return name === undefined ? undefined : `must be ${name}`;
    }
    case 'invalid_value':
      return `must be ${issue.values.length === 1 ? '' : 'one of '}${issue.values.join(', ')}`;
    case 'too_small':
      return issue.inclusive ? limit('at least', issue.minimum, issue.origin) : undefined;
    case 'too_big':
      return issue.inclusive ? limit('at most', issue.maximum, issue.origin) : undefined;
    default:
      return undefined;
  }
}

function limit(bound: string, count: number | bigint, origin: string): string {
  const unit = units[origin];
  if (unit !== undefined && bound === 'at least' && count === 1) return 'must not be empty';
  return unit === undefined ? `must be ${bound} ${count}` : `must have ${bound} ${count}${unit}`;
}

function sentence(where: string, message: string): string {
  const separator = /^(?:is|must|may|has|needs|names) /.test(message) ? ' ' : ': ';
  return `${where}${separator}${message}${/[.?!]$/.test(message) ? '' : '.'}`;
}

/** The schema at a path, as far as the path goes through fields. */
function schemaAt(schema: z.ZodType, path: readonly string[]): z.ZodType {
  return path.reduce((within, field) => fieldsOf(within)?.get(field) ?? within, schema);
}

function shortened(text: string): string {
  // A cut may leave half a character, which is unreadable.
  return text.length <= textShownMax ? text : `${text.slice(0, textShownMax).toWellFormed()}…`;
}
