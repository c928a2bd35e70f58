/** The OpenAPI 3.1 document, printed from the routes and the schemas that validate them. */
import { z } from 'zod';
import { type ProblemCode, problemTable } from '../base/errors.ts';
import { type AnswerDescription, problemsOf, type RouteDescription } from './route.ts';
import { createBody, problemAnswer } from './schemas.ts';
import { fieldSpellings, pathSpellings } from './spellings.ts';

type JsonObject = Record<string, unknown>;

export interface OpenApiOptions {
  readonly version: string;
  readonly baseUrl: string;
}

export function openApiDocument(
  routes: readonly RouteDescription[],
  { version, baseUrl }: OpenApiOptions,
): JsonObject {
  const schemas = new SchemaPrinter();
  const paths: Record<string, JsonObject> = {};
  for (const route of routes) {
    const operation = { [route.method.toLowerCase()]: operationOf(route, schemas) };
    paths[route.path] = { ...paths[route.path], ...operation };
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Terse',
      version,
      description: introduction(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      schemas: schemas.components,
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer', description: 'Your API key.' },
        apiKey: { type: 'apiKey', in: 'header', name: 'X-Api-Key', description: 'Your API key.' },
      },
    },
    'x-problems': problemTable,
  };
}

function introduction(): string {
  const paths = Object.entries(pathSpellings).map(
    ([path, others]) => `\`${path}\` is also ${others.map(other => `\`${other}\``).join(', ')}`,
  );
  const fields = Object.entries(fieldSpellings).map(([other, field]) => `\`${other}\` for \`${field}\``);
  return [
    'Create, follow, edit and count short links.',
    'Errors are `application/problem+json` with a stable `code`.',
    `Other spellings are accepted: ${paths.join('; ')}; ${fields.join(', ')}.`,
  ].join(' ');
}

function operationOf(route: RouteDescription, schemas: SchemaPrinter): JsonObject {
  const responses: Record<string, JsonObject> = {};
  for (const [status, answer] of Object.entries(route.answers))
    responses[status] = answerOf(route, Number(status), answer, schemas);
  for (const [status, codes] of problemsByStatus(route)) {
    responses[status] = {
      description: codes.map(code => `\`${code}\`: ${problemTable[code].title}.`).join(' '),
      content: { 'application/problem+json': { schema: schemas.print(problemAnswer, 'output') } },
    };
  }
  return {
    operationId: route.name,
    summary: route.summary,
    ...(route.description !== undefined && { description: route.description }),
    parameters: [...pathParameters(route), ...queryParameters(route, schemas), ...headerParameters(route)],
    ...(route.body !== undefined && {
      requestBody: {
        required: true,
        content: { 'application/json': { schema: schemas.print(route.body.schema, 'input') } },
      },
    }),
    responses,
    security: securityOf(route),
    ...(route.name === 'createLinks' && { 'x-item-schema': schemas.print(createBody, 'input') }),
  };
}

function answerOf(
  route: RouteDescription,
  status: number,
  answer: AnswerDescription,
  schemas: SchemaPrinter,
): JsonObject {
  const content: JsonObject = {};
  if (answer.schema !== undefined)
    content['application/json'] = { schema: schemas.print(answer.schema, 'output') };
  for (const mediaType of answer.mediaTypes ?? []) content[mediaType] = {};
  const hasLocation = (status === 201 && route.idempotent === true) || (status >= 300 && status < 400);
  return {
    description: answer.description,
    ...(Object.keys(content).length > 0 && { content }),
    ...(hasLocation && { headers: { Location: { schema: { type: 'string', format: 'uri' } } } }),
  };
}

function problemsByStatus(route: RouteDescription): Map<string, ProblemCode[]> {
  const byStatus = new Map<string, ProblemCode[]>();
  for (const code of problemsOf(route)) {
    const status = String(problemTable[code].status);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return byStatus;
}

function securityOf(route: RouteDescription): JsonObject[] {
  const keys: JsonObject[] = [{ bearer: [] }, { apiKey: [] }];
  if (route.auth === 'required') return keys;
  return route.auth === 'optional' ? [{}, ...keys] : [{}];
}

function pathParameters(route: RouteDescription): JsonObject[] {
  return [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: 'string', pattern: '^[0-9A-Za-z_-]{1,64}$' },
  }));
}

function queryParameters(route: RouteDescription, schemas: SchemaPrinter): JsonObject[] {
  if (route.query === undefined) return [];
  const { properties = {}, required = [] } = schemas.print(route.query, 'input') as {
    properties?: Record<string, JsonObject>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(description !== undefined && { description }),
    schema: Object.keys(schema).length === 0 ? { type: 'string' } : schema,
  }));
}

function headerParameters(route: RouteDescription): JsonObject[] {
  if (route.idempotent !== true) return [];
  return [
    {
      name: 'Idempotency-Key',
      in: 'header',
      required: false,
      description: 'A repeat with the same key within 24 hours returns the first answer and creates nothing.',
      schema: { type: 'string', minLength: 1, maxLength: 255 },
    },
  ];
}

/** Prints schemas as JSON Schema; those with an id become components that others refer to. */
class SchemaPrinter {
  readonly components: Record<string, JsonObject> = {};

  print(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
    const printed = z.toJSONSchema(schema, { io, unrepresentable: 'any', reused: 'inline' }) as JsonObject;
    const { $schema: _dialect, $defs, ...body } = this.#withComponentReferences(printed) as JsonObject;
    for (const [name, definition] of Object.entries(($defs ?? {}) as Record<string, JsonObject>)) {
      this.components[name] ??= withoutId(definition);
    }
    const id = typeof body.id === 'string' ? body.id : undefined;
    if (id === undefined) return body;
    this.components[id] ??= withoutId(body);
    return { $ref: `#/components/schemas/${id}` };
  }

  #withComponentReferences(value: unknown): unknown {
    if (Array.isArray(value)) return value.map(item => this.#withComponentReferences(item));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        key === '$ref' && typeof inner === 'string'
          ? inner.replace('#/$defs/', '#/components/schemas/')
          : this.#withComponentReferences(inner),
      ]),
    );
  }
}

function withoutId({ id: _id, ...schema }: JsonObject): JsonObject {
  return schema;
}
