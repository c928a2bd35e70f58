/**
 * A JSON schema as rows a person can read: one per field, nested fields by their path (`links[].longUrl`).
 * Schemas may be circular through references, so depth and number of rows are bounded.
 */
import { type JsonObject, jsonText, listOf, objectOf, type References, textOf } from './json-value.ts';

export interface FieldRow {
  readonly name: string;
  readonly type: string;
  readonly required: boolean;
  /** Such as `at most 64 characters`. */
  readonly constraints: readonly string[];
  /** As JSON; undefined when there is none. */
  readonly defaultValue: string | undefined;
  readonly description: string;
}

const depthMax = 5;
const rowsMax = 200;
const alternativesMax = 12;

export function fieldRow(name: string, schema: unknown, required: boolean, references: References): FieldRow {
  const resolved = references.resolve(schema);
  return {
    name,
    type: typeName(schema, references),
    required,
    constraints: constraintsOf(resolved, references),
    defaultValue: resolved.default === undefined ? undefined : jsonText(resolved.default),
    description: descriptionOf(resolved, references),
  };
}

/** A schema that allows null often keeps its words in the other alternative. */
function descriptionOf(schema: JsonObject, references: References): string {
  const candidates = [schema, ...alternativesOf(schema).map(references.resolve)];
  return candidates.map(candidate => textOf(candidate.description)).find(Boolean) ?? '';
}

/** The fields of an object schema, or of the objects inside an array schema. */
export function fieldRows(schema: unknown, references: References): FieldRow[] {
  const rows: FieldRow[] = [];
  const collect = (current: unknown, prefix: string, depth: number): void => {
    if (depth >= depthMax) return;
    const resolved = references.resolve(current);
    if (resolved.items !== undefined) collect(resolved.items, `${prefix}[]`, depth + 1);
    for (const { name, property, required } of propertiesOf(resolved, references)) {
      if (rows.length >= rowsMax) return;
      const path = prefix === '' ? name : `${prefix}.${name}`;
      rows.push(fieldRow(path, property, required, references));
      collect(property, path, depth + 1);
    }
  };
  collect(schema, '', 0);
  return rows;
}

interface Property {
  readonly name: string;
  readonly property: unknown;
  readonly required: boolean;
}

/** Own properties and those of combined schemas; what only one alternative asks for is not required. */
function propertiesOf(schema: JsonObject, references: References, depth = 0): Property[] {
  if (depth >= depthMax) return [];
  const required = new Set(listOf(schema.required));
  const found = new Map<string, Property>();
  for (const [name, property] of Object.entries(objectOf(schema.properties))) {
    found.set(name, { name, property, required: required.has(name) });
  }
  const nested = (part: unknown): Property[] => propertiesOf(references.resolve(part), references, depth + 1);
  for (const entry of listOf(schema.allOf).slice(0, alternativesMax).flatMap(nested)) {
    if (!found.has(entry.name)) found.set(entry.name, entry);
  }
  for (const entry of alternativesOf(schema).flatMap(nested)) {
    if (!found.has(entry.name)) found.set(entry.name, { ...entry, required: false });
  }
  return [...found.values()];
}

/** `string`, `array of object`, `string or null`, `any`. */
export function typeName(schema: unknown, references: References, depth = 0): string {
  if (schema === false) return 'nothing';
  if (depth >= depthMax) return 'any';
  const resolved = references.resolve(schema);
  const alternatives = alternativesOf(resolved);
  if (alternatives.length > 0) {
    return joined(alternatives.map(part => typeName(part, references, depth + 1)));
  }
  const declared = resolved.type;
  const types = typeof declared === 'string' ? [declared] : listOf(declared).map(textOf).filter(Boolean);
  if (types.length === 0) return impliedType(resolved, references, depth);
  return joined(
    types.map(type =>
      type === 'array' && resolved.items !== undefined
        ? `array of ${typeName(resolved.items, references, depth + 1)}`
        : type,
    ),
  );
}

function impliedType(schema: JsonObject, references: References, depth: number): string {
  const parts = listOf(schema.allOf).slice(0, alternativesMax);
  const named = parts.map(part => typeName(part, references, depth + 1)).filter(name => name !== 'any');
  if (named.length > 0) return joined(named);
  if (schema.properties !== undefined) return 'object';
  if (schema.items !== undefined) return 'array';
  const value = schema.const ?? listOf(schema.enum)[0];
  return value === undefined ? 'any' : value === null ? 'null' : typeof value;
}

function alternativesOf(schema: JsonObject): readonly unknown[] {
  return [...listOf(schema.anyOf), ...listOf(schema.oneOf)].slice(0, alternativesMax);
}

function joined(names: readonly string[]): string {
  return [...new Set(names)].join(' or ');
}

const constraintWords: Readonly<Record<string, (value: string) => string>> = {
  format: value => `format ${value}`,
  minLength: value => `at least ${counted(value, 'character')}`,
  maxLength: value => `at most ${counted(value, 'character')}`,
  minimum: value => `at least ${value}`,
  maximum: value => `at most ${value}`,
  exclusiveMinimum: value => `more than ${value}`,
  exclusiveMaximum: value => `less than ${value}`,
  multipleOf: value => `a multiple of ${value}`,
  minItems: value => `at least ${counted(value, 'item')}`,
  maxItems: value => `at most ${counted(value, 'item')}`,
  pattern: value => `matches ${value}`,
};

function counted(value: string, noun: string): string {
  return value === '1' ? `1 ${noun}` : `${value} ${noun}s`;
}

function constraintsOf(schema: JsonObject, references: References): string[] {
  const parts = partsOf(schema, references);
  const words = parts.flatMap(part =>
    Object.entries(constraintWords).flatMap(([keyword, wording]) => {
      const value = part[keyword];
      return isTelling(part, keyword, value) ? [wording(String(value))] : [];
    }),
  );
  if (parts.some(part => part.uniqueItems === true)) words.push('no item twice');
  const choices = parts.flatMap(part => [
    ...listOf(part.enum),
    ...(part.const === undefined ? [] : [part.const]),
  ]);
  const values = [...new Set(choices.map(jsonText))];
  if (values.length > 0) words.push(`${values.length === 1 ? 'always' : 'one of'} ${values.join(', ')}`);
  return [...new Set(words)];
}

/** A named format says more than the pattern that checks it, and the limits of a number type are no news. */
function isTelling(part: JsonObject, keyword: string, value: unknown): boolean {
  if (keyword === 'pattern') return typeof value === 'string' && part.format === undefined;
  if (typeof value === 'number') return Math.abs(value) < Number.MAX_SAFE_INTEGER;
  return typeof value === 'string';
}

/** The schema and everything it is combined from. */
function partsOf(schema: JsonObject, references: References, depth = 0): JsonObject[] {
  if (depth >= depthMax) return [];
  const nested = [...alternativesOf(schema), ...listOf(schema.allOf).slice(0, alternativesMax)];
  return [schema, ...nested.flatMap(part => partsOf(references.resolve(part), references, depth + 1))];
}
