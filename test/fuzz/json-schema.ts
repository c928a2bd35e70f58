/**
 * A JSON Schema validator for the keywords that our document uses, and for no others: a schema with an unknown keyword
 * is rejected when it is compiled, because a skipped keyword would silently check nothing.
 */
import { parseIsoTime } from '../../src/http/schemas.ts';
export type JsonSchema = boolean | JsonSchemaObject;
export type JsonSchemaObject = { readonly [keyword: string]: unknown };

/** The errors of a value, one sentence each, beginning with its path; empty for a valid one. */
export type Validate = (value: unknown) => string[];

export interface Schemas {
  compile(schema: JsonSchema): Validate;
  /** The schema that a chain of references leads to; keywords beside a reference win. */
  resolve(schema: JsonSchema): JsonSchemaObject;
}

type Check = (value: unknown, path: string) => string[];

const nothing: Check = () => [];
const annotations = new Set(['title', 'description', 'default', 'examples']);
const referencesMax = 8;

/** `document` is where references such as `#/components/schemas/Link` point into. */
export function schemasIn(document: unknown): Schemas {
  const compiled = new Map<string, Check>();

  function compileSchema(schema: JsonSchema): Check {
    if (typeof schema === 'boolean') return schema ? nothing : (_, path) => [`${path} must not be there`];
    const checks = Object.entries(schema).map(([keyword, argument]) => {
      if (annotations.has(keyword)) return nothing;
      const compile = Object.hasOwn(keywords, keyword) ? keywords[keyword] : undefined;
      if (compile === undefined) throw new Error(`the schema keyword “${keyword}” is not known here`);
      return compile(argument, schema);
    });
    return (value, path) => checks.flatMap(check => check(value, path));
  }

  /** Compiled when first used, so that a schema may refer to itself. */
  function compileReference(reference: string): Check {
    const target = lookUp(document, reference);
    return (value, path) => {
      const check = compiled.get(reference) ?? compileSchema(target);
      compiled.set(reference, check);
      return check(value, path);
    };
  }

  const keywords: Record<string, (argument: unknown, schema: JsonSchemaObject) => Check> = {
    $ref: argument => compileReference(argument as string),
    type: argument => checkType(Array.isArray(argument) ? argument : [argument]),
    const: argument => checkChoice([argument]),
    enum: argument => checkChoice(argument as unknown[]),
    anyOf: argument => {
      const alternatives = (argument as JsonSchema[]).map(compileSchema);
      return (value, path) => {
        const faults = alternatives.map(check => check(value, path));
        return faults.some(found => found.length === 0) ? [] : [`${path} fits no alternative`, ...faults[0]!];
      };
    },

    minLength: limit => onText((text, path) => atLeast([...text].length, limit, `${path} in characters`)),
    maxLength: limit => onText((text, path) => atMost([...text].length, limit, `${path} in characters`)),
    pattern: argument => {
      const pattern = new RegExp(argument as string, 'u');
      return onText((text, path) => (pattern.test(text) ? [] : [`${path} does not match ${pattern}`]));
    },
    format: argument => {
      const fits = formats[argument as string];
      if (fits === undefined) throw new Error(`the format “${argument}” is not known here`);
      return onText((text, path) => (fits(text) ? [] : [`${path} is not of the format ${argument}`]));
    },

    minimum: limit => onNumber((number, path) => atLeast(number, limit, path)),
    maximum: limit => onNumber((number, path) => atMost(number, limit, path)),

    minItems: limit => onList((list, path) => atLeast(list.length, limit, `${path} in items`)),
    maxItems: limit => onList((list, path) => atMost(list.length, limit, `${path} in items`)),
    items: argument => {
      const check = compileSchema(argument as JsonSchema);
      return onList((list, path) => list.flatMap((item, index) => check(item, `${path}[${index}]`)));
    },

    required: argument =>
      onObject((object, path) =>
        (argument as string[])
          .filter(name => !Object.hasOwn(object, name))
          .map(name => `${path}.${name} is missing`),
      ),
    properties: argument => {
      const checks = Object.entries(argument as Record<string, JsonSchema>).map(
        ([name, schema]) => [name, compileSchema(schema)] as const,
      );
      return onObject((object, path) =>
        checks.flatMap(([name, check]) =>
          Object.hasOwn(object, name) ? check(object[name], `${path}.${name}`) : [],
        ),
      );
    },
    additionalProperties: (argument, { properties = {} }) => {
      const check = compileSchema(argument as JsonSchema);
      return onObject((object, path) =>
        Object.keys(object)
          .filter(name => !Object.hasOwn(properties as object, name))
          .flatMap(name => check(object[name], `${path}.${name}`)),
      );
    },
    minProperties: limit =>
      onObject((object, path) => atLeast(Object.keys(object).length, limit, `${path} in fields`)),
  };

  return {
    compile(schema) {
      const check = compileSchema(schema);
      return value => check(value, '$');
    },
    resolve(schema) {
      let current: JsonSchemaObject = typeof schema === 'boolean' ? {} : schema;
      for (let hop = 0; hop < referencesMax && typeof current.$ref === 'string'; hop += 1) {
        const { $ref, ...beside } = current;
        current = { ...(lookUp(document, $ref as string) as JsonSchemaObject), ...beside };
      }
      return current;
    },
  };
}

function lookUp(document: unknown, reference: string): JsonSchema {
  if (!reference.startsWith('#/')) throw new Error(`the reference ${reference} leads out of the document`);
  let found = document as Record<string, unknown> | undefined;
  for (const part of reference.slice(2).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    found = found !== undefined && Object.hasOwn(found, name) ? (found[name] as typeof found) : undefined;
  }
  if (found === undefined) throw new Error(`the reference ${reference} leads nowhere`);
  return found;
}

const typeTests: Readonly<Record<string, (value: unknown) => boolean>> = {
  null: value => value === null,
  boolean: value => typeof value === 'boolean',
  string: value => typeof value === 'string',
  number: value => Number.isFinite(value),
  // In JSON Schema 1.0 is an integer too.
  integer: value => Number.isInteger(value),
  array: value => Array.isArray(value),
  object: value => typeof value === 'object' && value !== null && !Array.isArray(value),
};

function checkType(types: readonly unknown[]): Check {
  const tests = types.map(type => {
    const test = typeTests[type as string];
    if (test === undefined) throw new Error(`the type “${type}” is not known here`);
    return test;
  });
  return (value, path) => (tests.some(test => test(value)) ? [] : [`${path} is not ${types.join(' or ')}`]);
}

function checkChoice(choices: readonly unknown[]): Check {
  return (value, path) =>
    choices.some(choice => Bun.deepEquals(choice, value, true))
      ? []
      : [`${path} is not one of ${JSON.stringify(choices)}`];
}

/** A keyword for one type does not apply to values of another. */
function onText(check: (text: string, path: string) => string[]): Check {
  return (value, path) => (typeof value === 'string' ? check(value, path) : []);
}

function onNumber(check: (number: number, path: string) => string[]): Check {
  return (value, path) => (typeof value === 'number' ? check(value, path) : []);
}

function onList(check: (list: readonly unknown[], path: string) => string[]): Check {
  return (value, path) => (Array.isArray(value) ? check(value, path) : []);
}

function onObject(check: (object: Record<string, unknown>, path: string) => string[]): Check {
  return (value, path) => (typeTests.object!(value) ? check(value as Record<string, unknown>, path) : []);
}

function atLeast(actual: number, limit: unknown, what: string): string[] {
  return actual >= (limit as number) ? [] : [`${what} is less than ${limit}`];
}

function atMost(actual: number, limit: unknown, what: string): string[] {
  return actual <= (limit as number) ? [] : [`${what} is more than ${limit}`];
}

const formats: Readonly<Record<string, (text: string) => boolean>> = {
  'date-time': isDateTime,
  'iso-8601': text => parseIsoTime(text) !== undefined,
  'uri-reference': text => URL.canParse(text, 'http://a.example/'),
  uri: text => /^https?:$/.test(URL.parse(text)?.protocol ?? ''),
};

const dateTimePattern =
  /^(\d{4})-(\d{2})-(\d{2})T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** RFC 3339 in capitals and without leap seconds, which is what JavaScript can represent. */
function isDateTime(text: string): boolean {
  const [, year, month, day] = dateTimePattern.exec(text) ?? [];
  if (year === undefined) return false;
  const date = new Date(`${year}-${month}-${day}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(`${year}-${month}-${day}`);
}
