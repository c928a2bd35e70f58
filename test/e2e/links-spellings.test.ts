/**
 * The other names of paths and fields are the same call, wherever they appear. Every operation that takes or gives fields
 * is called twice: in camelCase on one server, in snake_case on its twin. Both must store the same and answer the same but for
 * names. The two servers share a clock and see the same calls; random values are left out of the comparison.
 */
import { afterAll, describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../../src/base/clock.ts';
import { camelCase, fieldSpellings, pathSpellings, snakeCase } from '../../src/http/spellings.ts';
import { schemasIn } from '../fuzz/json-schema.ts';
import { type OpenApiDocument, type Operation, operationsOf } from '../fuzz/openapi-operations.ts';
import { fittingValue, nearlyFittingValue } from '../fuzz/schema-arbitrary.ts';
import { type Answer, callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { scaled } from '../kit/scale.ts';
import { testSeed } from '../kit/seed.ts';
import { storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';

const clock = new ManualClock(Date.parse('2026-06-01T12:00:00Z'));
const env = { TERSE_SIGNUP: 'on', TERSE_CLICKS: 'off' };
const [terse, twin] = await Promise.all([startTerseHere({ clock, env }), startTerseHere({ clock, env })]);
afterAll(() => Promise.all([terse.stop(), twin.stop()]));
const call = callerOf(terse.url);
const callTwin = callerOf(twin.url);

for (const caller of [call, callTwin]) {
  const body = { longUrl: 'https://example.com/', customAlias: 'mine' };
  expect((await caller('POST', '/api/v1/links', { body })).status).toBe(201);
}

const document = (await call('GET', '/api/v1/openapi.json')).body as OpenApiDocument;
const schemas = schemasIn(document);
/** Operations that end a session or a key, show changes of other calls, or are not part of the API. */
const leftOut =
  /^(?:readLiveness|readReadiness|readMetrics|readStatus|showReportForm|reportForm|watch|export)/;
const operations = operationsOf(document).filter(
  ({ id, path }) => path.startsWith('/api/v1/') && !leftOut.test(id),
);

const renamedDeep = (value: unknown, rename: (name: string) => string): unknown => {
  if (Array.isArray(value)) return value.map(item => renamedDeep(item, rename));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [rename(name), renamedDeep(inner, rename)]),
  );
};

/** Fields that differ between the servers. */
const chance = new Set([
  'id',
  'accountId',
  'keyId',
  'key',
  'token',
  'shortCode',
  'shortUrl',
  'sessionId',
  'addedBy',
  'ownerId',
]);

function comparable(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(comparable);
  if (typeof value !== 'object' || value === null) return value;
  const isProblem = 'detail' in value && 'code' in value;
  return Object.fromEntries(
    Object.entries(isProblem ? plainWords(value) : value).map(([name, inner]) => [
      name,
      chance.has(name) && typeof inner === 'string' ? 'any' : comparable(inner),
    ]),
  );
}

/** Converts names within sentences, too, and leaves out columns, which depend on the length of names. */
const plainWords = (problem: Answer['body']): Record<string, unknown> => ({
  ...problem,
  detail: camelInQuotes(String(problem.detail)).replace(/column \d+/, 'a column'),
  ...(problem.field !== undefined && { field: camelPath(problem.field) }),
  ...(problem.errors !== undefined && {
    errors: problem.errors.map(({ field, message }: { field: string; message: string }) => ({
      field: camelPath(field),
      message: camelInQuotes(message),
    })),
  }),
});
const camelPath = (path: string): string => path.split('.').map(camelCase).join('.');
const camelInQuotes = (text: string): string =>
  text.replace(/“([\w.]+)”/g, (_, path: string) => `“${camelPath(path)}”`);

const hasNames = (value: unknown): boolean =>
  /"[a-z]+(?:[A-Z]|_[a-z])\w*":/.test(JSON.stringify(value) ?? '');

/** Only names in camelCase can be written in the other style. */
const hasTwin = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return true;
  const isNamed =
    Array.isArray(value) || Object.keys(value).every(name => /^[a-z]+(?:[A-Z][a-z]+)*$/.test(name));
  return isNamed && Object.values(value).every(hasTwin);
};

interface Asked {
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

function arbitraryFor({ parameters, body }: Operation): fc.Arbitrary<Asked> {
  // A search also finds random codes.
  const query = parameters.filter(parameter => parameter.in === 'query' && parameter.name !== 'search');
  const queries = fc.record(
    Object.fromEntries(query.map(({ name, schema }) => [name, fittingValue(schema, schemas)])),
    { requiredKeys: query.filter(({ required }) => required).map(({ name }) => name) },
  );
  const bodies =
    body === undefined
      ? fc.constant(undefined)
      : fc.oneof(
          { weight: 3, arbitrary: fittingValue(body, schemas) },
          { weight: 2, arbitrary: nearlyFittingValue(body, schemas, []) },
        );
  return fc.record({ query: queries, body: bodies });
}

const queryText = (query: Readonly<Record<string, unknown>>, rename: (name: string) => string): string =>
  new URLSearchParams(
    Object.entries(query).map(([name, value]): [string, string] => [
      rename(name),
      name === 'sort' ? rename(String(value)) : String(value),
    ]),
  ).toString();

test.each(operations.map(operation => [operation.id, operation] as const))(
  '%s in snake_case is the same call as in camelCase',
  async (_id, operation) => {
    const path = operation.path.replace(/\{\w+\}/g, 'mine');
    await fc.assert(
      fc.asyncProperty(arbitraryFor(operation), async ({ query, body }) => {
        fc.pre(hasTwin(body));
        // A search also finds random codes.
        fc.pre(!JSON.stringify(body ?? null).includes('"search":'));
        // Links of the same moment are listed in the order of their random codes.
        clock.advance(1);
        const [camel, snake] = await Promise.all([
          call(operation.method, `${path}?${queryText(query, name => name)}`, { body }),
          callTwin(operation.method, `${path}?${queryText(query, snakeCase)}`, {
            body: renamedDeep(body, snakeCase),
          }),
        ]);
        expect(snake.status).toBe(camel.status);
        const wasSnake =
          hasNames(renamedDeep(body, snakeCase)) || Object.keys(query).some(name => /[A-Z]/.test(name));
        if (typeof camel.body !== 'object') return;
        if (wasSnake && camel.status < 400 && hasNames(camel.body))
          expect(JSON.stringify(snake.body)).not.toMatch(/"[a-z]+[A-Z]\w*":/);
        const back = renamedDeep(snake.body, camelCase) as Answer['body'];
        expect(comparable(back)).toEqual(comparable(camel.body));
      }),
      { numRuns: scaled(12, 200), seed: testSeed },
    );
  },
  60_000,
);

test('both servers have stored the same links', () => {
  const linksOf = (folder: string): string[] => {
    const rows = storedRows(folder).links as readonly Record<string, unknown>[];
    // These depend on codes and secrets, which are random.
    return rows
      .map(({ id: _id, code: _code, owner: _owner, url_hash: _hash, guards_code: _guards, ...row }) =>
        JSON.stringify(row),
      )
      .toSorted();
  };
  expect(linksOf(terse.dataFolder).length).toBeGreaterThan(5);
  expect(linksOf(twin.dataFolder)).toEqual(linksOf(terse.dataFolder));
});

const paths = Object.entries(pathSpellings).flatMap(([canonical, others]) => [
  canonical,
  ...Object.keys(others),
]);

describe.each(paths)('%s', path => {
  const isSnake = !/^\/(?:api\/)?v1\/links$/.test(path);
  const named = (name: string): string => (isSnake ? snakeCase(name) : name);

  test('reads, lists, edits, replaces, deletes, draws and creates many', async () => {
    const created = await call('POST', path, { body: { url: 'https://example.com/' } });
    expect(created.status).toBe(201);
    const code: string = created.body[named('shortCode')];
    expect(new URL(created.headers.get('location')!).pathname).toBe(`/api/v1/links/${code}`);
    const one = `${path}/${code}`;
    expect((await call('GET', one)).body[named('shortCode')]).toBe(code);
    expect((await call('GET', path)).body.links[0][named('shortCode')]).toBe(code);
    const edited = await call('PATCH', one, {
      body: { long_url: 'https://example.com/2', expires_at: '2099-01-01' },
    });
    expect(edited.body).toMatchObject({
      long_url: 'https://example.com/2',
      expires_at: '2099-01-01T00:00:00.000Z',
    });
    const replaced = await call('PUT', one, { body: { longUrl: 'https://example.com/3' } });
    expect(replaced.body).toMatchObject({ longUrl: 'https://example.com/3', expiresAt: null });
    expect(await call('GET', `${one}/qr`)).toMatchObject({ status: 200 });
    const bulk = await call('POST', `${path}/bulk`, { body: { links: [{ url: 'https://example.com/' }] } });
    expect(bulk.body.results[0].link[named('longUrl')]).toBe('https://example.com/');
    expect(await call('DELETE', one)).toMatchObject({ status: 204 });
  });
});

describe.each(
  Object.entries(fieldSpellings).flatMap(([name, field]) =>
    [...new Set([name, snakeCase(name)])].map(each => [each, field] as const),
  ),
)('%s for %s', (name, field) => {
  const bodyWith = (fields: object) => ({
    ...(field !== 'longUrl' && { longUrl: 'https://example.com/' }),
    ...fields,
  });
  const value = field === 'longUrl' ? 'https://example.com/spelled' : `by-${name.replace('_', '-')}`;

  test('is the same field', async () => {
    const answer = await call('POST', '/api/v1/links', { body: bodyWith({ [name]: value }) });
    const link = renamedDeep(answer.body, camelCase) as Answer['body'];
    expect(answer.status).toBe(201);
    expect(link[field === 'longUrl' ? 'longUrl' : 'shortCode']).toBe(value);
  });

  test('beside it is rejected, even with the same value, and nothing is stored', async () => {
    const before = storedRows(terse.dataFolder);
    const answer = await call('POST', '/api/v1/links', { body: bodyWith({ [field]: value, [name]: value }) });
    expectProblem(answer, 400, 'invalid_request');
    expect(answer.body).toMatchObject({
      field: name,
      detail: expect.stringContaining(`“${field}” and “${name}”`),
    });
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });

  test('is named by an error', async () => {
    const wrong = field === 'longUrl' ? 'nonsense' : 'a b';
    const answer = await call('POST', '/api/v1/links', { body: bodyWith({ [name]: wrong }) });
    expect(answer).toMatchObject({ status: 400, body: { field: name } });
  });
});

describe('an unknown field', () => {
  test.each([
    [{ longurl: 'https://example.com/' }, 'longurl', 'longUrl'],
    [{ longUrl: 'https://example.com/', expireAt: null }, 'expireAt', 'expiresAt'],
    [{ long_url: 'https://example.com/', max_click: 3 }, 'max_click', 'max_clicks'],
    [{ long_url: 'https://example.com/', titel: 'a' }, 'titel', 'title'],
  ])('%j is named, and the one that was meant suggested', async (body, field, meant) => {
    const before = storedRows(terse.dataFolder);
    const answer = await call('POST', '/api/v1/links', { body });
    expectProblem(answer, 400, 'invalid_request');
    const error = answer.body.errors.find((each: { field: string }) => each.field === field);
    expect(error.message).toBe(`is not a known field; did you mean “${meant}”?`);
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });

  test('that resembles no other is named without a suggestion, beside all other errors', async () => {
    const body = { long_url: 5, colour: 'red', max_clicks: 0 };
    const answer = await call('POST', '/api/v1/links', { body });
    expect(answer.body.errors.map((each: { field: string }) => each.field).toSorted()).toEqual([
      'colour',
      'long_url',
      'max_clicks',
    ]);
    expect(answer.body.errors.find((each: { field: string }) => each.field === 'colour').message).toBe(
      'is not a known field',
    );
  });

  test('in a query is treated alike', async () => {
    const answer = await call('GET', '/api/v1/links?serch=a');
    expectProblem(answer, 400, 'invalid_request');
    expect(answer.body.errors).toEqual([
      { field: 'serch', message: 'is not a known field; did you mean “search”?' },
    ]);
  });
});

test('each item of a bulk call has its own names', async () => {
  const body = {
    links: [
      { url: 'nonsense' },
      { long_url: 'nonsense' },
      { long_url: 'https://example.com/', slug: 'api' },
      { long_url: 'https://example.com/', custom_alias: 'bulk-snake' },
    ],
  };
  const { results } = (await call('POST', '/api/v1/links/bulk', { body })).body;
  expect(results[0].problem.field).toBe('url');
  expect(results[1].problem.field).toBe('long_url');
  expect(results[2].problem).toMatchObject({
    field: 'slug',
    detail: expect.stringContaining('this slug is reserved'),
  });
  expect(results[3]).toMatchObject({ status: 201, link: { short_code: 'bulk-snake' } });
});

test('a field in both styles is rejected with both names', async () => {
  const body = { long_url: 'https://example.com/', longUrl: 'https://example.com/' };
  const answer = await call('POST', '/api/v1/links', { body });
  expect(answer.body).toMatchObject({
    field: 'longUrl',
    detail: '“long_url” and “longUrl” are the same field; send one of them.',
  });
});

test('errors of values are listed together, too', async () => {
  const body = { url: 'nonsense', slug: 'api', expires_at: '2020-01-01' };
  const answer = await call('POST', '/api/v1/links', { body });
  expect(answer).toMatchObject({ status: 400, body: { code: 'invalid_url', field: 'url' } });
  expect(answer.body.errors.map((each: { field: string }) => each.field)).toEqual([
    'url',
    'slug',
    'expires_at',
  ]);
  expect(answer.body.errors[1].message).toContain('this slug is reserved');
});

test('a value is not renamed with its field', async () => {
  const body = { url: 'https://example.com/', slug: 'my-alias' };
  expect((await call('POST', '/api/v1/links', { body })).status).toBe(201);
  const taken = await call('POST', '/api/v1/links', { body: { ...body, url: 'https://example.com/2' } });
  expect(taken).toMatchObject({ status: 409, body: { detail: 'The slug “my-alias” is already taken.' } });
});

test('errors in a change of many links name fields as they were sent', async () => {
  const change = { long_url: 'javascript:1' };
  const snake = await call('PATCH', '/api/v1/links/bulk', { body: { codes: ['mine'], change } });
  expect(snake).toMatchObject({ status: 400, body: { field: 'change.long_url' } });
  const camel = await call('PATCH', '/api/v1/links/bulk', {
    body: { codes: ['mine'], change: { longUrl: 'javascript:1' } },
  });
  expect(camel).toMatchObject({ status: 400, body: { field: 'change.longUrl' } });
});
