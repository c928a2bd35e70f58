/** The operations of an OpenAPI document, in the few words that the fuzzer needs. */
import { pathSpellings, spellingsOf } from '../../src/http/spellings.ts';
import type { JsonSchema } from './json-schema.ts';

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: JsonSchema;
}

export interface Operation {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  readonly bodyBytesMax: number;
  readonly answers: ReadonlyMap<number, DocumentedAnswer>;
  readonly key: 'needed' | 'optional' | 'ignored';
  readonly scope: string | undefined;
}

export interface DocumentedAnswer {
  readonly description: string;
  /** Without a schema for types other than JSON. */
  readonly media: ReadonlyMap<string, JsonSchema | undefined>;
  /** The required headers. */
  readonly headers: readonly string[];
}

/** Only the parts that the fuzzer reads. */
export interface OpenApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OperationSource>>>>;
}

interface OperationSource {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly description: string; readonly content: Content };
  readonly responses: Readonly<
    Record<
      string,
      {
        readonly description: string;
        readonly content?: Content;
        readonly headers?: Readonly<Record<string, { readonly required?: boolean }>>;
      }
    >
  >;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
}

type Content = Readonly<Record<string, { readonly schema?: JsonSchema }>>;

export function operationsOf({ paths }: OpenApiDocument): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, source]) => ({
      id: source.operationId,
      method: method.toUpperCase(),
      path,
      parameters: source.parameters,
      body: source.requestBody?.content['application/json']?.schema,
      bodyBytesMax: bytesMaxOf(source),
      answers: answersOf(source),
      key: keyUse(source.security),
      scope: scopeIn(source.security),
    })),
  );
}

/** The document says in words how large a body may be. */
function bytesMaxOf({ requestBody }: OperationSource): number {
  if (requestBody === undefined) return 0;
  return Number(/at most (\d+) MiB/.exec(requestBody.description)![1]) * 1024 * 1024;
}

function answersOf({ responses }: OperationSource): Map<number, DocumentedAnswer> {
  const answers = new Map<number, DocumentedAnswer>();
  for (const [status, { description, content = {}, headers = {} }] of Object.entries(responses)) {
    answers.set(Number(status), {
      description,
      media: new Map(Object.entries(content).map(([type, { schema }]) => [type, schema])),
      headers: Object.keys(headers).filter(name => headers[name]?.required === true),
    });
  }
  return answers;
}

function keyUse(security: readonly object[]): Operation['key'] {
  const withKey = security.filter(entry => Object.keys(entry).length > 0).length;
  if (withKey === 0) return 'ignored';
  return withKey === security.length ? 'needed' : 'optional';
}

/** The scope that a key needs. */
function scopeIn(security: OperationSource['security']): string | undefined {
  return security.flatMap(entry => Object.values(entry).flat())[0];
}

/** Whether the document names this problem among the operation's answers. */
export const mayAnswer = ({ answers }: Operation, code: string): boolean =>
  [...answers.values()].some(({ description }) => description.includes(`\`${code}\``));

const snakePaths = Object.values(pathSpellings)
  .flatMap(others => Object.entries(others))
  .filter(([, style]) => style === 'snake_case')
  .map(([path]) => path);

/**
 * All paths under which an operation can be called and answers as documented, parameters still in braces. That the others
 * are the same calls is shown by links-spellings.test.ts.
 */
export const pathsOf = (operation: Operation): string[] =>
  spellingsOf(operation.path).filter(path => !snakePaths.some(other => path.startsWith(other)));
