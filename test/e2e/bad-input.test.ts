/**
 * An invalid request is answered with a problem document that says what is wrong, and nothing of it is stored.
 * The same bad bodies go to every route that takes one.
 */
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { callerOf } from '../kit/client.ts';
import { expectProblem } from '../kit/expect-problem.ts';
import { sendRaw } from '../kit/raw-http.ts';
import { type StoredRows, storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'kept' } });

let before: StoredRows;
beforeEach(() => {
  before = storedRows(terse.dataFolder);
});
afterEach(() => {
  expect(storedRows(terse.dataFolder)).toEqual(before);
});

const routes = [
  ['POST', '/api/v1/links'],
  ['POST', '/api/v1/links/bulk'],
  ['PATCH', '/api/v1/links/kept'],
  ['PUT', '/api/v1/links/kept'],
  ['POST', '/api/v1/keys'],
] as const;

/** Sends bytes as they are, which the kit's caller does not. */
async function send(
  method: string,
  path: string,
  body: NonNullable<RequestInit['body']>,
  headers: Record<string, string> = {},
) {
  const response = await fetch(terse.url + path, {
    method,
    body,
    headers: { Authorization: `Bearer ${adminKey}`, 'Content-Type': 'application/json', ...headers },
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: JSON.parse(text) };
}

const bytes = (...values: number[]) => new Uint8Array(values);
const quoted = (...inside: number[]) => bytes(0x22, ...inside, 0x22);

test.each(routes)('%s %s echoes little of a request that it rejects', async (method, path) => {
  const long = 'k'.repeat(100_000);
  for (const body of [
    { [long]: 1 },
    Object.fromEntries(Array.from({ length: 64 }, (_, index) => [`${index}${long.slice(0, 5_000)}`, 1])),
    { longUrl: 'https://example.com/', status: long, name: 1, links: 1 },
  ]) {
    const answer = await call(method, path, { body });
    expectProblem(answer, 400, 'invalid_request');
    expect(JSON.stringify(answer.body).length).toBeLessThan(4_000);
  }
});

describe.each(routes)('%s %s', (method, path) => {
  test.each([
    ['an empty body', ''],
    ['white space', ' \n '],
    ['half an object', '{"longUrl":'],
    ['tens of thousands of keys', `{${Array.from({ length: 60_000 }, (_, index) => `"${index}":1`)}}`],
    ['a trailing comma', '{"longUrl":"https://example.com/",}'],
    ['single quotes', "{'longUrl':'https://example.com/'}"],
    ['a comment', '{} // no'],
    ['two documents', '{}{}'],
    ['NaN', '{"longUrl":NaN}'],
    ['a leading zero', '{"maxClicks":01}'],
    ['a bare tab in a string', '{"longUrl":"a\tb"}'],
    ['a key given twice', '{"longUrl":"https://example.com/","longUrl":"https://example.com/"}'],
    ['a key given twice, once escaped', '{"name":"a","n\\u0061me":"b"}'],
    ['__proto__ given twice', '{"__proto__":1,"__proto__":2}'],
    ['33 levels', '['.repeat(33) + ']'.repeat(33)],
    ['100,000 levels', '['.repeat(100_000)],
    ['a form', 'longUrl=https%3A%2F%2Fexample.com%2F'],
    ['XML', '<longUrl>https://example.com/</longUrl>'],
    ['bytes that are no UTF-8', bytes(0xff, 0xfe, 0x00)],
    ['an overlong UTF-8 form', quoted(0xc0, 0xaf)],
    ['half of a UTF-8 character', quoted(0xe2, 0x82)],
    ['a surrogate in UTF-8', quoted(0xed, 0xa0, 0x80)],
    ['UTF-16', bytes(0x7b, 0x00, 0x7d, 0x00)],
  ])('rejects %s as JSON', async (_what, body) => {
    expectProblem(await send(method, path, body), 400, 'invalid_json');
  });

  test.each([
    ['null', 'null'],
    ['a number', '1'],
    ['a string', '"https://example.com/"'],
    ['true', 'true'],
    ['a list', '[{"longUrl":"https://example.com/"}]'],
    ['an empty object', '{}'],
    ['an unknown field', '{"longUrl":"https://example.com/","name":"n","links":[],"colour":"blue"}'],
    ['__proto__', '{"longUrl":"https://example.com/","__proto__":{"isAdmin":true}}'],
    ['constructor', '{"longUrl":"https://example.com/","constructor":{"prototype":{}}}'],
    ['a field in other case', '{"LONGURL":"https://example.com/"}'],
  ])('rejects %s as a request', async (_what, body) => {
    expectProblem(await send(method, path, body), 400, 'invalid_request');
  });

  test.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'json',
    '',
  ])('rejects the content type “%s”', async type => {
    const headers = { 'Content-Type': type };
    expectProblem(
      await send(method, path, '{"longUrl":"https://example.com/"}', headers),
      415,
      'unsupported_media_type',
    );
  });

  test('rejects a compressed body', async () => {
    const body = Bun.gzipSync('{"longUrl":"https://example.com/"}');
    const headers = { 'Content-Encoding': 'gzip' };
    expectProblem(await send(method, path, body, headers), 415, 'unsupported_media_type');
  });

  const bytesMax = path.endsWith('/bulk') ? 16 * 1024 * 1024 : 1024 * 1024;

  test('rejects a body that is announced as too large without waiting for it', async () => {
    const head = `${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer ${adminKey}\r\n`;
    const [answer] = await sendRaw(terse.url, `${head}Content-Length: ${bytesMax + 1}\r\n\r\n`);
    expect(answer!.status).toBe(413);
    expect(JSON.parse(answer!.body)).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  test('rejects a body of unannounced length that is too large', async () => {
    const chunk = new Uint8Array(256 * 1024).fill(0x20);
    async function* chunks() {
      for (let sent = 0; sent <= bytesMax; sent += chunk.length) yield chunk;
    }
    const body = new ReadableStream({
      async start(controller) {
        for await (const each of chunks()) controller.enqueue(each);
        controller.close();
      },
    });
    expectProblem(await send(method, path, body), 413, 'body_too_large');
  });
});

describe('a wrong value', () => {
  const wrong: Record<string, readonly unknown[]> = {
    longUrl: [1, true, [], {}, ['https://example.com/'], null],
    customAlias: [1, true, [], {}, null],
    expiresAt: [
      1,
      true,
      [],
      {},
      '',
      'tomorrow',
      '2099-02-30',
      '2099-01-01T00:00:00',
      '2099-02-30T00:00:00Z',
      '99999-01-01T00:00:00Z',
    ],
    title: [1, true, [], {}, 'a'.repeat(301), '\ud800', 'a\u0000b'],
    tags: [
      'tag',
      1,
      {},
      [1],
      [null],
      [['a']],
      [''],
      ['a'.repeat(51)],
      ['\udc00'],
      new Array(21).fill('a'),
      null,
    ],
    redirectType: [300, 303, 304, '302', 302.5, null, true, [302]],
    findExisting: ['true', 1, null, []],
    maxClicks: [0, -1, 1.5, '5', 1_000_000_001, 1e300, true, []],
    forwardQuery: ['true', 0, null, {}],
    status: ['deleted', 'ACTIVE', '', 1, null, ['active']],
  };
  const notOnEdit = ['customAlias', 'findExisting'];
  const cases = Object.entries(wrong).flatMap(([field, values]) =>
    values.map(value => [field, JSON.stringify(value), value] as const),
  );

  test.each(cases)('of %s: %s is rejected and named', async (field, _shown, value) => {
    for (const [method, path] of [
      ...(field === 'status' ? [] : [['POST', '/api/v1/links'] as const]),
      ...(notOnEdit.includes(field)
        ? []
        : ([
            ['PATCH', '/api/v1/links/kept'],
            ['PUT', '/api/v1/links/kept'],
          ] as const)),
    ]) {
      const answer = await call(method, path, { body: { longUrl: 'https://example.com/', [field]: value } });
      expectProblem(answer, 400, 'invalid_request');
      expect(answer.body.errors[0].field).toStartWith(field);
    }
  });

  test.each([1, null, [], {}, '', 'a'.repeat(101), '\ud800'].map(name => [JSON.stringify(name), name]))(
    'of a key’s name: %s is rejected',
    async (_shown, name) => {
      expectProblem(await call('POST', '/api/v1/keys', { body: { name } }), 400, 'invalid_request');
    },
  );

  test.each(['size=0', 'size=63', 'size=2049', 'size=big', 'format=gif', 'colour=red', 'size=64&size=65'])(
    'of a QR code’s query: %s is rejected',
    async query => {
      expectProblem(await call('GET', `/api/v1/links/kept/qr?${query}`), 400, 'invalid_request');
    },
  );
});

test.each([
  '/api/v1/nothing',
  '/api',
  '/api/v1/links/kept/nothing',
  '/api/v1/links/a%00b',
  '/api/v1/links/%zz',
])('%s is a problem, not a page', async path => {
  expectProblem(await call('GET', path), 404, 'not_found');
});

test.each([
  ['DELETE', '/api/v1/links', 'POST, GET, HEAD'],
  ['GET', '/api/v1/links/bulk', 'POST, PATCH, DELETE'],
  ['POST', '/api/v1/links/kept', 'GET, PATCH, PUT, DELETE, HEAD'],
  ['POST', '/health/live', 'GET, HEAD'],
  ['DELETE', '/', 'GET, HEAD'],
])('%s %s lists the allowed methods', async (method, path, allowed) => {
  const answer = await call(method, path);
  expectProblem(answer, 405, 'method_not_allowed');
  expect(answer.headers.get('allow')).toBe(allowed);
});
