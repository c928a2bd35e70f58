/**
 * Prints the validation schemas as JSON Schema, for people and for client generators. Schemas with an id become
 * components that others reference. Constructs that the validation library writes for its own use are shortened: the
 * meaning stays exactly the same.
 */
import { z } from 'zod';

export type JsonObject = Record<string, unknown>;

export class SchemaPrinter {
  readonly components: Record<string, JsonObject> = {};

  print(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const options = { io, unrepresentable: 'any', reused: 'inline', override: keepWords } as const;
    const printed = z.toJSONSchema(schema, options) as JsonObject;
    const { $schema: _dialect, $defs = {}, ...body } = printed;
    for (const [name, definition] of Object.entries($defs as Record<string, JsonObject>)) {
      this.components[name] ??= tidied(definition);
    }
    return tidied(body);
  }
}

/** The library drops these for a converted value, because they might describe the output; ours never do. */
function keepWords({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodType; jsonSchema: JsonObject }): void {
  const { examples, default: value } = (z.globalRegistry.get(zodSchema) ?? {}) as JsonObject;
  if (examples !== undefined) jsonSchema.examples = examples;
  if (value !== undefined) jsonSchema.default = value;
}

function tidied(schema: JsonObject): JsonObject {
  const { $ref } = schema;
  if (typeof $ref === 'string') {
    return { ...schema, $ref: $ref.replace('#/$defs/', '#/components/schemas/') };
  }
  let tidy = withTidyParts(schema);
  if (Array.isArray(tidy.anyOf)) tidy = withNullAsType(tidy, tidy.anyOf);
  // The library writes a pattern of the whole calendar; the format says the same in one word.
  if (tidy.format === 'date-time') delete tidy.pattern;
  if (tidy.type === 'number' && choicesOf(tidy).some(Number.isInteger)) tidy.type = 'integer';
  if (tidy.minimum === Number.MIN_SAFE_INTEGER) delete tidy.minimum;
  if (tidy.maximum === Number.MAX_SAFE_INTEGER) delete tidy.maximum;
  if (tidy.minLength === 0) delete tidy.minLength;
  // Names are always strings, and an empty schema allows what the absence of one allows.
  delete tidy.propertyNames;
  if (isEmpty(tidy.additionalProperties)) delete tidy.additionalProperties;
  return tidy;
}

/** The schemas inside a schema, and nothing else that may look like one, such as an example. */
function withTidyParts(schema: JsonObject): JsonObject {
  const tidy = { ...schema };
  for (const keyword of ['items', 'additionalProperties']) {
    if (typeof tidy[keyword] === 'object') tidy[keyword] = tidied(tidy[keyword] as JsonObject);
  }
  if (Array.isArray(tidy.anyOf)) tidy.anyOf = tidy.anyOf.map(tidied);
  if (tidy.properties !== undefined) {
    const properties = Object.entries(tidy.properties as Record<string, JsonObject>);
    tidy.properties = Object.fromEntries(properties.map(([name, property]) => [name, tidied(property)]));
  }
  return tidy;
}

/** `string or null` as OpenAPI 3.1 writes it, with the description at the top level. */
function withNullAsType(schema: JsonObject, alternatives: readonly JsonObject[]): JsonObject {
  const [value, ...others] = alternatives.filter(alternative => alternative.type !== 'null');
  if (others.length > 0 || typeof value?.type !== 'string' || alternatives.length !== 2) return schema;
  const { anyOf: _, ...words } = schema;
  const choices = value.enum === undefined ? {} : { enum: [...(value.enum as unknown[]), null] };
  return { ...value, ...choices, type: [value.type, 'null'], ...words };
}

function choicesOf(schema: JsonObject): readonly unknown[] {
  return [schema.const, ...((schema.enum as unknown[] | undefined) ?? [])];
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}
