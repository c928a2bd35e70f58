/**
 * Judges a request by the document alone: which parts of the description does it break? A request without a flaw must
 * not be rejected as malformed, and one with a flaw must not be accepted.
 */
import type { JsonSchemaObject, Schemas, Validate } from './json-schema.ts';
import { mayAnswer, type Operation } from './openapi-operations.ts';
import { type SentRequest, withCanonicalNames } from './sent-request.ts';

/** Which part of the request breaks the description. */
export type Flaw =
  | 'key'
  | 'suspension'
  | 'origin'
  | 'place'
  | 'query'
  | 'header'
  | 'media'
  | 'size'
  | 'json'
  | 'body';

export type Judge = (sent: SentRequest) => ReadonlySet<Flaw>;

export interface Judges {
  readonly request: Judge;
  /** For one item of a bulk call, which is rejected by itself. */
  readonly item: (value: unknown) => ReadonlySet<Flaw>;
}

export function createJudges(operations: readonly Operation[], schemas: Schemas): Judges {
  const parameters = new Map<string, Validate>();
  const bodies = new Map<string, Validate>();
  let item: Validate | undefined;
  for (const operation of operations) {
    for (const { name, schema } of operation.parameters) {
      parameters.set(`${operation.id} ${name}`, schemas.compile(schema));
    }
    if (operation.body === undefined) continue;
    bodies.set(operation.id, schemas.compile(withoutItems(operation, schemas.resolve(operation.body))));
    if (operation.id === 'createLink') item = schemas.compile(operation.body);
  }
  const fits = (operation: Operation, name: string, value: unknown): boolean =>
    parameters.get(`${operation.id} ${name}`)!(value).length === 0;

  function queryFits({ operation, plan }: SentRequest): boolean {
    const known = operation.parameters.filter(parameter => parameter.in === 'query');
    if (known.length === 0) return true;
    const pairs = [...new URL(`http://a.example/?${plan.query}`).searchParams];
    if (new Set(pairs.map(([name]) => name)).size < pairs.length) return false;
    return pairs.every(([name, text]) => {
      const parameter = known.find(each => each.name === name);
      if (parameter === undefined) return false;
      const isNumber = schemas.resolve(parameter.schema).type === 'integer';
      const value = isNumber && /^\d{1,15}$/.test(text) ? Number(text) : text;
      return isWritable(value) && fits(operation, name, value);
    });
  }

  return {
    request(sent) {
      const { operation, plan, places } = sent;
      const flaws = new Set<Flaw>();
      if (keyIsMissing(sent)) flaws.add('key');
      if (sent.caller === 'suspendedKey' && operation.key !== 'ignored') flaws.add('suspension');
      if (sent.caller === 'foreignSite' && mayAnswer(operation, 'foreign_origin')) flaws.add('origin');
      for (const [name, text] of Object.entries(places)) {
        const decoded = decodedPlace(text);
        if (decoded === undefined || !fits(operation, name, decoded)) flaws.add('place');
      }
      if (!queryFits(sent)) flaws.add('query');
      for (const { name } of operation.parameters.filter(parameter => parameter.in === 'header')) {
        const value = sent.header(name);
        if (value !== undefined && !fits(operation, name, value)) flaws.add('header');
      }
      if (operation.body === undefined) return flaws;
      if (!isJsonType(sent.header('Content-Type'))) flaws.add('media');
      if ((sent.header('Content-Encoding') ?? 'identity') !== 'identity') flaws.add('media');
      if (plan.body === undefined || plan.body.kind === 'broken') flaws.add('json');
      else if (plan.body.kind === 'oversized') flaws.add('size');
      else if (depthOf(sent.input ?? plan.body.value) > jsonDepthMax) flaws.add('json');
      else if (bodies.get(operation.id)!(sent.input).length > 0 || !isWritable(sent.input, operation)) {
        flaws.add('body');
      }
      return flaws;
    },
    item(value) {
      const input = withCanonicalNames(value);
      return new Set<Flaw>(item!(input).length > 0 || !isWritable(input) ? ['body'] : []);
    },
  };
}

/** The schema of a bulk call without its items, which are judged separately. */
function withoutItems({ id }: Operation, body: JsonSchemaObject): JsonSchemaObject {
  if (id !== 'createLinks') return body;
  const { properties } = body as { properties: Record<string, object> };
  return { ...body, properties: { ...properties, links: { ...properties.links, items: true } } };
}

function keyIsMissing({ operation, caller, session }: SentRequest): boolean {
  if (operation.key === 'ignored') return false;
  if (caller === 'nobody') return operation.key === 'needed';
  if (caller === 'foreignSite') return session === undefined;
  return caller === 'revokedKey' || caller === 'wrongKey' || caller === 'brokenKey';
}

function decodedPlace(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

function isJsonType(type: string | undefined): boolean {
  return type === undefined || /^(?:application\/json|[\w.]+\/[\w.]+\+json) *(?:;|$)/i.test(type);
}

export const jsonDepthMax = 32;

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest: number, inner) => Math.max(deepest, depthOf(inner)), 0);
}

/** No text may contain NUL or half of a surrogate pair, which JSON Schema cannot express. */
function isWritable(value: unknown, operation?: Operation): boolean {
  if (typeof value === 'string') return value.isWellFormed() && !value.includes('\0');
  if (typeof value !== 'object' || value === null) return true;
  // The items of a bulk call are judged one by one.
  return operation?.id === 'createLinks' || Object.values(value).every(inner => isWritable(inner));
}
