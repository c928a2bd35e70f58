/**
 * A client generated from an OpenAPI document: per operation, requests that fit the description and requests that break
 * it in one place. A plan depends only on the seed; names of existing things are filled in when it is sent.
 */
import fc from 'fast-check';
import { fieldSpellings } from '../../src/http/spellings.ts';
import { brokenBody, hostileText, jsonText } from './hostile-values.ts';
import type { JsonSchema, Schemas } from './json-schema.ts';
import type { Operation } from './openapi-operations.ts';
import { fittingValue, nearlyFittingValue } from './schema-arbitrary.ts';

export const callers = [
  'admin',
  'adminByHeader',
  'stranger',
  'issuedKey',
  'narrowKey',
  'session',
  'foreignSite',
  'suspendedKey',
  'nobody',
  'revokedKey',
  'wrongKey',
  'brokenKey',
] as const;
export type Caller = (typeof callers)[number];

/** The value of a path parameter: something the server has or had, or a written text. */
export type Place =
  | { readonly kind: 'present' | 'former'; readonly pick: number }
  | { readonly kind: 'written'; readonly text: string };

export type BodyPlan =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'broken'; readonly bytes: Uint8Array }
  /** Valid, but with so much white space that it passes the limit by this many bytes. */
  | { readonly kind: 'oversized'; readonly value: unknown; readonly excessBytes: number };

export interface RequestPlan {
  readonly operationId: string;
  /** Which of the equivalent paths. */
  readonly spelling: number;
  readonly places: Readonly<Record<string, Place>>;
  /** As sent, without the question mark. */
  readonly query: string;
  readonly caller: Caller;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: BodyPlan | undefined;
}

export function requestPlans(operation: Operation, schemas: Schemas): fc.Arbitrary<RequestPlan> {
  return fc.record({
    operationId: fc.constant(operation.id),
    spelling: fc.nat(10),
    places: placesOf(operation),
    query: queryOf(operation, schemas),
    caller: callerOf(operation),
    headers: headersOf(operation, schemas),
    body: operation.body === undefined ? strayBody : bodyOf(operation.body, schemas),
  });
}

function placesOf(operation: Operation): fc.Arbitrary<Record<string, Place>> {
  const inPath = operation.parameters.filter(parameter => parameter.in === 'path');
  return fc.record(Object.fromEntries(inPath.map(({ name, schema }) => [name, placeOf(schema)])));
}

/** Escaped as they are sent; none of them is a code or an id. */
const malformedPlaces = [
  '%00',
  '%',
  '%zz',
  '%ff',
  '%c0%ae',
  '%2F',
  '..%2f..',
  '%2e%2e',
  'a%20b',
  '%E2%80%AEx',
  '\u00e9',
  'x'.repeat(65),
  'x'.repeat(5_000),
  'a;b',
  'a&b',
  ':code',
  '{code}',
  '*',
  '%5C',
];

function placeOf(schema: JsonSchema): fc.Arbitrary<Place> {
  const { pattern } = schema as { pattern: string };
  const written = (text: fc.Arbitrary<string>): fc.Arbitrary<Place> =>
    text.map(each => ({ kind: 'written', text: each }));
  return fc.oneof(
    { weight: 10, arbitrary: fc.record({ kind: fc.constant('present'), pick: fc.nat() }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('former'), pick: fc.nat() }) },
    { weight: 2, arbitrary: written(fc.stringMatching(new RegExp(pattern))) },
    { weight: 2, arbitrary: written(fc.constantFrom(...malformedPlaces)) },
  );
}

function queryOf(operation: Operation, schemas: Schemas): fc.Arbitrary<string> {
  const known = operation.parameters.filter(parameter => parameter.in === 'query');
  const none = fc.constant('');
  const junk = fc.constantFrom(
    '&',
    '=',
    '%',
    '%zz=%ff',
    '?',
    'a=b&a=b',
    '+',
    'limit',
    'x[]=1',
    '__proto__=1',
  );
  if (known.length === 0) return fc.oneof({ weight: 6, arbitrary: none }, junk);
  const fitting = fc
    .record(
      Object.fromEntries(
        known.map(({ name, required, schema }) => {
          const value = fittingValue(schema, schemas);
          return [name, required ? value : fc.oneof({ weight: 2, arbitrary: fc.constant(undefined) }, value)];
        }),
      ),
    )
    .map(values => Object.entries(values).filter(([, value]) => value !== undefined));
  const pair = fc
    .constantFrom(...known)
    .chain(({ name, schema }) => nearlyFittingValue(schema, schemas).map(value => [name, value] as const));
  const spoiled = fc
    .tuple(fc.oneof(fc.constant([]), fitting), pair)
    .map(([good, bad]) => [...good.filter(([name]) => name !== bad[0]), bad]);
  const extra = fc.tuple(fitting, hostileText).map(([good, name]) => [...good, [name, '1'] as const]);
  const twice = fitting.map(good => [...good, ...good.slice(0, 1)]);
  const written = (pairs: fc.Arbitrary<(readonly [string, unknown])[]>): fc.Arbitrary<string> =>
    pairs.map(each =>
      each.map(([name, value]) => `${escaped(name)}=${escaped(String(value)).slice(0, 4_000)}`).join('&'),
    );
  return fc.oneof(
    { weight: 2, arbitrary: none },
    { weight: 8, arbitrary: written(fitting) },
    { weight: 6, arbitrary: written(spoiled) },
    { weight: 1, arbitrary: written(extra) },
    { weight: 1, arbitrary: written(twice) },
    { weight: 1, arbitrary: junk },
  );
}

/** Cut where the head of the request would become larger than servers accept. */
const escaped = (text: string): string => encodeURIComponent(text.slice(0, 300).toWellFormed());

function callerOf(operation: Operation): fc.Arbitrary<Caller> {
  const entitled = fc.constantFrom<Caller[]>(
    'admin',
    'admin',
    'admin',
    'adminByHeader',
    'stranger',
    'stranger',
    'issuedKey',
    'narrowKey',
    'session',
  );
  const refused = fc.constantFrom<Caller[]>(
    'revokedKey',
    'wrongKey',
    'brokenKey',
    'suspendedKey',
    'foreignSite',
  );
  const nobody = fc.constant<Caller>('nobody');
  if (operation.key === 'ignored') return fc.oneof({ weight: 2, arbitrary: nobody }, refused);
  return fc.oneof(
    { weight: 14, arbitrary: entitled },
    { weight: operation.key === 'optional' ? 3 : 1, arbitrary: nobody },
    { weight: 1, arbitrary: refused },
  );
}

const jsonMediaTypes = [
  'application/json',
  'application/json; charset=utf-8',
  'Application/JSON',
  'a/b+json',
];
const otherMediaTypes = ['text/plain', 'application/x-www-form-urlencoded', 'application/jsonp', 'json', ','];
const accepted = ['text/html,*/*;q=0.8', 'application/json', '*/*', 'image/png', ''];
const agents = ['Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0', 'Googlebot/2.1', 'curl/8.5.0'];

function headersOf(operation: Operation, schemas: Schemas): fc.Arbitrary<Record<string, string>> {
  const headers: Record<string, fc.Arbitrary<string | undefined>> = {
    Accept: sometimes(2, fc.constantFrom(...accepted)),
    'User-Agent': sometimes(3, fc.constantFrom(...agents)),
  };
  if (operation.body !== undefined) {
    headers['Content-Type'] = fc.oneof(
      { weight: 20, arbitrary: sometimes(6, fc.constantFrom(...jsonMediaTypes)) },
      { weight: 1, arbitrary: fc.constantFrom(...otherMediaTypes) },
    );
    headers['Content-Encoding'] = fc.oneof(
      { weight: 40, arbitrary: sometimes(2, fc.constant('identity')) },
      { weight: 1, arbitrary: fc.constantFrom('gzip', 'br, identity') },
    );
  }
  for (const { name, schema } of operation.parameters.filter(parameter => parameter.in === 'header')) {
    const value = fc.oneof(
      { weight: 4, arbitrary: fc.nat(9).map(each => `again-${each}`) },
      { weight: 4, arbitrary: fittingValue(schema, schemas).map(String) },
      { weight: 1, arbitrary: fc.constantFrom('', 'a b', 'x'.repeat(256), '\u00e9', 'a\u007f') },
    );
    headers[name] = sometimes(2, value);
  }
  return fc
    .record(headers)
    .map(
      chosen =>
        Object.fromEntries(Object.entries(chosen).filter(([, value]) => value !== undefined)) as Record<
          string,
          string
        >,
    );
}

/** Left out once in `freq` times. */
function sometimes(freq: number, value: fc.Arbitrary<string>): fc.Arbitrary<string | undefined> {
  return fc.option(value, { nil: undefined, freq });
}

function bodyOf(schema: JsonSchema, schemas: Schemas): fc.Arbitrary<BodyPlan | undefined> {
  const fitting = fittingValue(schema, schemas);
  const text = fitting.map(jsonText);
  const value = (values: fc.Arbitrary<unknown>): fc.Arbitrary<BodyPlan> =>
    values.map(each => ({ kind: 'value', value: each }));
  const oversized: fc.Arbitrary<BodyPlan> = fc.record({
    kind: fc.constant('oversized'),
    value: fitting,
    excessBytes: fc.constantFrom(1, 50_000),
  });
  return fc.oneof(
    { weight: 40, arbitrary: value(fitting) },
    { weight: 40, arbitrary: value(nearlyFittingValue(schema, schemas, Object.keys(fieldSpellings))) },
    { weight: 12, arbitrary: brokenBody(text).map<BodyPlan>(bytes => ({ kind: 'broken', bytes })) },
    { weight: 1, arbitrary: oversized },
    { weight: 1, arbitrary: fc.constant(undefined) },
  );
}

/** An unexpected body, which the server must skip, or the next request would begin inside it. */
const strayBody: fc.Arbitrary<BodyPlan | undefined> = fc.oneof(
  { weight: 12, arbitrary: fc.constant(undefined) },
  fc.constantFrom<BodyPlan[]>(
    { kind: 'value', value: {} },
    { kind: 'value', value: 'GET /x HTTP/1.1\r\n\r\n' },
    { kind: 'broken', bytes: new Uint8Array(70_000) },
  ),
);
