/** Checks that the document is complete and readable, for people and for client generators. */
import { afterAll, describe, expect, test } from 'bun:test';
import { startTerseHere } from '../kit/terse-here.ts';
import { type JsonSchema, type JsonSchemaObject, schemasIn } from './json-schema.ts';
import { type OpenApiDocument, operationsOf } from './openapi-operations.ts';

interface WholeDocument extends OpenApiDocument {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> };
}

const terse = await startTerseHere();
afterAll(() => terse.stop());
const document = (await (await fetch(`${terse.url}/api/v1/openapi.json`)).json()) as WholeDocument;
const schemas = schemasIn(document);
const operations = operationsOf(document);
const sources = Object.values(document.paths).flatMap(item => Object.values(item)) as unknown as {
  readonly operationId: string;
  readonly summary: string;
  readonly tags: readonly string[];
  readonly parameters: readonly {
    readonly name: string;
    readonly description?: string;
    readonly schema: JsonSchema;
  }[];
}[];

interface Placed {
  readonly place: string;
  readonly schema: JsonSchemaObject;
}

/** Every schema of the document, down to the smallest, with its path. */
function everySchema(): Placed[] {
  const found: Placed[] = [];
  const visit = (schema: unknown, place: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    const { properties = {}, anyOf = [], items, additionalProperties } = schema as JsonSchemaObject;
    found.push({ place, schema: schema as JsonSchemaObject });
    for (const [name, inner] of Object.entries(properties as object)) visit(inner, `${place}.${name}`);
    for (const [index, inner] of (anyOf as unknown[]).entries()) visit(inner, `${place}|${index}`);
    visit(items, `${place}[]`);
    visit(additionalProperties, `${place}.*`);
  };
  for (const [name, schema] of Object.entries(document.components.schemas)) visit(schema, name);
  for (const { id, parameters, body, answers } of operations) {
    for (const { name, schema } of parameters) visit(schema, `${id} ${name}`);
    visit(body, `${id} body`);
    for (const [status, { media }] of answers) {
      for (const schema of media.values()) visit(schema, `${id} ${status}`);
    }
  }
  return found;
}

const all = everySchema();

test('it is OpenAPI 3.1 with operations and components to look at', () => {
  expect(document.openapi).toStartWith('3.1.');
  expect(operations.length).toBeGreaterThan(10);
  expect(Object.keys(document.components.schemas)).toContain('Link');
});

test('every reference leads somewhere, and every schema says only what can be checked', () => {
  for (const { schema } of all) schemas.compile(schema)(undefined);
});

test('every operation has a unique name, a summary and a described group', () => {
  expect(new Set(sources.map(({ operationId }) => operationId)).size).toBe(sources.length);
  const groups = document.tags.filter(({ description }) => description !== '').map(({ name }) => name);
  for (const { summary, tags } of sources) {
    expect(summary).not.toBe('');
    expect(tags).toHaveLength(1);
    expect(groups).toContain(tags[0]!);
  }
});

test('every parameter and every field that can be sent is described', () => {
  const parameters = sources.flatMap(({ operationId, parameters: own }) =>
    own.filter(({ description }) => !description).map(({ name }) => `${operationId} ${name}`),
  );
  const fields = operations.flatMap(({ id, body }) => {
    const { properties = {} } = schemas.resolve(body ?? true) as { properties?: Record<string, JsonSchema> };
    return Object.entries(properties)
      .filter(([, property]) => !schemas.resolve(property).description)
      .map(([name]) => `${id} ${name}`);
  });
  expect([...parameters, ...fields]).toEqual([]);
});

describe('no schema', () => {
  test('says “or null” in any other way than by its type', () => {
    const roundabout = all.filter(
      ({ schema }) =>
        schema.nullable !== undefined || isRoundabout(schema.anyOf as JsonSchemaObject[] | undefined),
    );
    expect(roundabout).toEqual([]);
  });

  test('has a pattern too long to read', () => {
    expect(all.filter(({ schema }) => String(schema.pattern ?? '').length > 60)).toEqual([]);
  });

  test('has limits that only a computer would think of', () => {
    const absurd = all.filter(({ schema }) => Math.abs(Number(schema.maximum ?? schema.minimum ?? 0)) > 1e15);
    expect(absurd).toEqual([]);
  });

  test('has an example or a default that it would not accept itself', () => {
    for (const { place, schema } of all) {
      const given = [...((schema.examples as unknown[] | undefined) ?? [])];
      if (schema.default !== undefined) given.push(schema.default);
      const validate = schemas.compile(schema);
      expect(given.flatMap(validate), place).toEqual([]);
    }
  });
});

test('every refusal names its problem codes for programs and explains them to people', () => {
  for (const { answers } of operations) {
    for (const { description, media } of answers.values()) {
      const schema = media.get('application/problem+json') as
        | { properties: { code: { enum: string[] } } }
        | undefined;
      if (schema === undefined) continue;
      const explained = [...description.matchAll(/`(\w+)`: [A-Z]/g)].map(([, code]) => code);
      expect(schema.properties.code.enum).toEqual(explained as string[]);
    }
  }
});

/** A named schema has no type to add null to, so an alternative is the only way for it. */
function isRoundabout(alternatives: JsonSchemaObject[] | undefined): boolean {
  if (alternatives === undefined || alternatives.some(({ $ref }) => $ref !== undefined)) return false;
  return alternatives.some(({ type }) => type === 'null');
}
