/**
 * HTTP as attackers write it. A request whose end two readers may see in different places is rejected and its
 * connection closed, so that nothing of it is ever taken for a second request; slow clients are cut off; clients that
 * disconnect affect no others.
 */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { callerOf } from '../kit/client.ts';
import { metricOf } from '../kit/follow.ts';
import { RawConnection, sendRaw } from '../kit/raw-http.ts';
import { heavyTestMaxMs } from '../kit/scale.ts';
import { storedRows } from '../kit/stored-rows.ts';
import { startTerseHere } from '../kit/terse-here.ts';
import { adminKey } from '../kit/terse-process.ts';
import { until } from '../kit/until.ts';

const terse = await startTerseHere();
afterAll(() => terse.stop());
const call = callerOf(terse.url);
await call('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/', customAlias: 'target' } });

const host = 'Host: localhost\r\n';
const body = '{"longUrl":"https://example.com/"}';
const hexLength = body.length.toString(16);
const post = `POST /api/v1/links HTTP/1.1\r\n${host}Content-Type: application/json\r\n`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\n${host}${headers}\r\n`;
/** Follows each broken request; a server that answers it is open to request smuggling. */
const smuggled = get('/target');
const chunked = `Transfer-Encoding: chunked\r\n\r\n`;
const lastChunk = '0\r\n\r\n';

describe('a request whose length is in doubt is rejected, and nothing behind it is answered', () => {
  test.each([
    ['both lengths', `${post}Content-Length: ${body.length}\r\n${chunked}${lastChunk}`],
    [
      'both lengths, the other way round',
      `${post}Transfer-Encoding: chunked\r\nContent-Length: 6\r\n\r\n${lastChunk}`,
    ],
    ['two different lengths', `${post}Content-Length: 3\r\nContent-Length: ${body.length}\r\n\r\n${body}`],
    [
      'two different lengths, the longer first',
      `${post}Content-Length: ${body.length}\r\nContent-Length: 3\r\n\r\n${body}`,
    ],
    [
      'the same length twice',
      `${post}Content-Length: ${body.length}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    ],
    ['a list of lengths', `${post}Content-Length: ${body.length}, ${body.length}\r\n\r\n${body}`],
    ['a negative length', `${post}Content-Length: -1\r\n\r\n${body}`],
    ['a length with a plus', `${post}Content-Length: +${body.length}\r\n\r\n${body}`],
    ['a hexadecimal length', `${post}Content-Length: 0x${hexLength}\r\n\r\n${body}`],
    ['an empty length', `${post}Content-Length: \r\n\r\n${body}`],
    ['a length of two numbers', `${post}Content-Length: 3 4\r\n\r\n${body}`],
    ['a length beyond all numbers', `${post}Content-Length: 99999999999999999999999\r\n\r\n${body}`],
    ['a space before the colon', `${post}Content-Length : ${body.length}\r\n\r\n${body}`],
    ['an unknown coding', `${post}Transfer-Encoding: gzip\r\n\r\n${hexLength}\r\n${body}\r\n${lastChunk}`],
    [
      'a coding that ends in chunked',
      `${post}Transfer-Encoding: xchunked\r\n\r\n${hexLength}\r\n${body}\r\n${lastChunk}`,
    ],
    [
      'chunked twice',
      `${post}Transfer-Encoding: chunked, chunked\r\n\r\n${hexLength}\r\n${body}\r\n${lastChunk}`,
    ],
    [
      'chunked and identity',
      `${post}Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n${lastChunk}`,
    ],
    ['chunked after a vertical tab', `${post}Transfer-Encoding:\vchunked\r\n\r\n${lastChunk}`],
    ['chunked on a folded line', `${post}Transfer-Encoding:\r\n chunked\r\n\r\n${lastChunk}`],
    ['chunked in HTTP/1.0', `POST /api/v1/links HTTP/1.0\r\n${host}${chunked}${lastChunk}`],
    ['a chunk size that is no number', `${post}${chunked}zz\r\n${body}\r\n${lastChunk}`],
    ['a chunk size with 0x', `${post}${chunked}0x${hexLength}\r\n${body}\r\n${lastChunk}`],
    ['a negative chunk size', `${post}${chunked}-1\r\n${body}\r\n${lastChunk}`],
    ['an empty chunk size', `${post}${chunked}\r\n${body}\r\n${lastChunk}`],
    ['a chunk size beyond all numbers', `${post}${chunked}fffffffffffffffff\r\n${body}\r\n${lastChunk}`],
    ['a chunk shorter than its data', `${post}${chunked}5\r\n${body}\r\n${lastChunk}`],
    ['a chunk size ended by a bare line feed', `${post}${chunked}${hexLength}\n${body}\r\n${lastChunk}`],
  ])('%s', async (_what, broken) => {
    const before = storedRows(terse.dataFolder);
    const answers = await sendRaw(terse.url, broken + smuggled);
    expect(answers.map(({ status }) => status)).toEqual([400]);
    expect(storedRows(terse.dataFolder)).toEqual(before);
  });
});

describe('two equal lengths are rejected on every path, whichever handler answers there', () => {
  const twice = 'Content-Length: 0\r\nContent-Length: 0\r\n';

  test.each(['/target', '/target+', '/no-such', '/no.such', '/', '/docs', '/robots.txt', '/health/live'])(
    'GET %s',
    async path => {
      const answers = await sendRaw(terse.url, get(path, twice) + smuggled);
      expect(answers.map(({ status }) => status)).toEqual([400]);
    },
  );
});

test.each(['[', '[::1', 'a b', 'a?b', '%'])('the invalid host “%s” is rejected', async odd => {
  const answers = await sendRaw(terse.url, `GET /target HTTP/1.1\r\nHost: ${odd}\r\n\r\n${smuggled}`);
  expect(answers.map(({ status }) => status)).toEqual([400]);
});

test.each(['[::1]', 'a%20b', 'terse.example:99999', ''])(
  'a host of “%s” does not change the query',
  async odd => {
    const ask = (query: string) =>
      sendRaw(
        terse.url,
        `GET /api/v1/links?${query} HTTP/1.1\r\nHost: ${odd}\r\nX-Api-Key: ${adminKey}\r\nConnection: close\r\n\r\n`,
      );
    const [answer] = await ask('limit=1&search=no%20such+link');
    expect({ status: answer?.status, body: answer?.body }).toEqual({
      status: 200,
      body: '{"links":[],"nextCursor":null}',
    });
    expect((await ask('limit=0')).map(({ status }) => status)).toEqual([400]);
  },
);

describe('a malformed head is rejected', () => {
  const withHeader = (header: string) => get('/target', header);
  const many = Array.from({ length: 300 }, (_, index) => `X-${index}: a\r\n`).join('');

  test.each([
    ['a folded line', withHeader('X-A: b\r\n c\r\n'), 400],
    ['a space before a colon', withHeader('X-A : b\r\n'), 400],
    ['a space before the first name', `GET /target HTTP/1.1\r\n X-A: b\r\n${host}\r\n`, 400],
    ['a bare carriage return', withHeader('X-A: b\rX-B: c\r\n'), 400],
    ['a bare line feed', withHeader('X-A: b\nX-B: c\r\n'), 400],
    ['NUL in a value', withHeader('X-A: b\0c\r\n'), 400],
    ['NUL in a name', withHeader('X\0A: b\r\n'), 400],
    ['a line without a colon', withHeader('X-A\r\n'), 400],
    ['an empty name', withHeader(': b\r\n'), 400],
    ['no host', 'GET /target HTTP/1.1\r\n\r\n', 400],
    ['no path', `GET target HTTP/1.1\r\n${host}\r\n`, 400],
    ['two hosts', `GET /target HTTP/1.1\r\n${host}${host}\r\n`, 400],
    ['another version', `GET /target HTTP/9.9\r\n${host}\r\n`, 505],
    ['TLS to a plain port', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n', 400],
    ['a header of 17 KB', withHeader(`X-A: ${'b'.repeat(17 * 1024)}\r\n`), 431],
    ['300 headers', withHeader(many), 431],
    ['a target of 17 KB', get(`/${'a'.repeat(17 * 1024)}`), 431],
  ])('%s', async (_what, broken, status) => {
    const answers = await sendRaw(terse.url, broken + smuggled);
    expect(answers.map(answer => answer.status)).toEqual([status]);
  });

  test('a body larger than we accept is rejected before it is read', async () => {
    const answers = await sendRaw(terse.url, `${post}Content-Length: ${1024 ** 4}\r\n\r\n${smuggled}`);
    expect(answers.map(answer => answer.status)).toEqual([413]);
  });
});

test.each(['BREW', 'GETS', 'TRACE'])('%s is never taken for another method', async method => {
  for (const path of ['/target', '/health/live', '/api/v1/links', '/robots.txt']) {
    const answers = await sendRaw(
      terse.url,
      `${method} ${path} HTTP/1.1\r\n${host}X-Api-Key: ${adminKey}\r\nConnection: close\r\n\r\n`,
    );
    expect(answers).toMatchObject([{ status: 405, headers: { allow: expect.stringContaining('GET') } }]);
  }
});

describe('a body is never taken for a request', () => {
  const length = `Content-Length: ${smuggled.length}\r\n\r\n${smuggled}`;
  const inChunks = `${chunked}${smuggled.length.toString(16)}\r\n${smuggled}\r\n${lastChunk}`;

  test.each([
    ['of a redirect', `GET /target HTTP/1.1\r\n${host}${length}`, 302],
    ['of a redirect, in chunks', `GET /target HTTP/1.1\r\n${host}${inChunks}`, 302],
    ['of a method that is not allowed', `POST /target HTTP/1.1\r\n${host}${length}`, 405],
    ['of a caller without a key', `POST /api/v1/keys HTTP/1.1\r\n${host}${length}`, 401],
    ['of the wrong type', `POST /api/v1/links HTTP/1.1\r\n${host}Content-Type: text/plain\r\n${length}`, 415],
    [
      'of the wrong type, in chunks',
      `POST /api/v1/links HTTP/1.1\r\n${host}Content-Type: text/plain\r\n${inChunks}`,
      415,
    ],
    ['that is no JSON', `${post}${length}`, 400],
    ['of a path that leads nowhere', `POST /no/such/path HTTP/1.1\r\n${host}${length}`, 404],
  ])('%s', async (_what, request, status) => {
    const connection = await RawConnection.open(terse.url);
    connection.write(request);
    expect((await connection.answers(1)).map(answer => answer.status)).toEqual([status]);
    connection.write(get('/robots.txt', 'Connection: close\r\n'));
    const answers = await connection.answersUntilClosed();
    expect(answers.map(answer => answer.status)).toEqual([status, 200]);
  });
});

describe('requests sent without waiting', () => {
  test('are answered in their order', async () => {
    await call('GET', '/target');
    const paths = ['/target', '/no.such', '/robots.txt', '/target', '/health/live', '/target+'];
    const statuses = [302, 404, 200, 302, 200, 200];
    const connection = await RawConnection.open(terse.url);
    connection.write(paths.map(path => get(path)).join(''));
    expect((await connection.answers(paths.length)).map(answer => answer.status)).toEqual(statuses);
    connection.abandon();
  });

  test('behind a slow one are answered after it', async () => {
    const connection = await RawConnection.open(terse.url);
    connection.write(`${post}Content-Length: ${body.length}\r\n\r\n${body}${smuggled}`);
    expect((await connection.answers(2)).map(answer => answer.status)).toEqual([201, 302]);
    connection.abandon();
  });
});

describe('slow and absent clients', () => {
  /** Sends one byte at a time until the server closes the connection. */
  async function trickle(connection: RawConnection, bytes: string): Promise<void> {
    for (const byte of bytes) {
      if (connection.closed) return;
      connection.write(byte);
      await Bun.sleep(250);
    }
  }

  test(
    'are cut off, whether they stop or trickle, and others do not notice',
    async () => {
      const endless = 'a'.repeat(1_000);
      const slow: readonly (readonly [what: string, atOnce: string, trickled: string])[] = [
        ['a head that stops', 'GET /target HTTP/1.1\r\nHost: loc', ''],
        ['a head that trickles', 'GET /target HTTP/1.1\r\nHost: localhost\r\nX-A: ', endless],
        ['a request line that trickles', 'GET /', endless],
        ['a body that stops', `${post}Content-Length: 1000\r\n\r\n{"long`, ''],
        ['a body that trickles', `${post}Content-Length: 1000\r\n\r\n`, endless],
        ['chunks that stop', `${post}${chunked}5\r\n{"lon`, ''],
        ['chunks that trickle', `${post}${chunked}3e8\r\n`, endless],
        ['a connection without a request', '', ''],
      ];
      const cutOff = new Set<string>();
      const ends = slow.map(async ([what, atOnce, trickled]) => {
        const connection = await RawConnection.open(terse.url);
        connection.write(atOnce);
        await Promise.all([connection.textUntilClosed(), trickle(connection, trickled)]);
        cutOff.add(what);
      });
      while (cutOff.size < slow.length) {
        expect(await call('GET', '/target')).toMatchObject({ status: 302 });
        await Bun.sleep(250);
      }
      await Promise.all(ends);
    },
    heavyTestMaxMs,
  );

  test('that disconnect in the middle of a request leave nothing behind', async () => {
    const before = storedRows(terse.dataFolder);
    for (const part of [
      'GET /tar',
      `${post}Content-Length: ${body.length}\r\n\r\n${body.slice(0, -1)}`,
      `${post}${chunked}${hexLength}\r\n${body}\r\n`,
      `${post}${chunked}`,
    ]) {
      const connections = await Promise.all(Array.from({ length: 16 }, () => RawConnection.open(terse.url)));
      for (const connection of connections) connection.write(part);
      await call('GET', '/target');
      for (const connection of connections) connection.abandon();
    }
    expect(await call('GET', '/target')).toMatchObject({ status: 302 });
    expect(storedRows(terse.dataFolder)).toEqual(before);
    expect(terse.logged()).not.toContain('"level":"error"');
  });
});

describe('more changes than allowed at once', () => {
  test('are rejected with 503 and Retry-After, and nothing else is; afterwards all are accepted again', async () => {
    const small = await startTerseHere({ env: { TERSE_IN_FLIGHT_MAX: '1' } });
    const lock = new Database(join(small.dataFolder, 'terse.db'));
    try {
      const callSmall = callerOf(small.url);
      const create = () => callSmall('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
      const known = (await create()).body.shortCode;
      const cold = (await create()).body.shortCode;
      expect(await callSmall('GET', `/${known}`)).toMatchObject({ status: 302 });

      // The lock keeps the writer waiting, and so the request.
      lock.run('BEGIN IMMEDIATE');
      const first = create();
      await untilInProgress(small.url);
      const refused = await create();
      expect(refused).toMatchObject({ status: 503, body: { code: 'overloaded' } });
      expect(refused.headers.get('retry-after')).toBe('1');
      for (const path of [`/${known}`, `/${cold}`]) {
        expect(await callSmall('GET', path)).toMatchObject({ status: 302 });
      }
      for (const path of [
        `/api/v1/links/${known}`,
        `/${cold}+`,
        '/health/live',
        '/health/ready',
        '/metrics',
      ]) {
        expect(await callSmall('GET', path)).toMatchObject({ status: 200 });
      }

      lock.run('ROLLBACK');
      expect(await first).toMatchObject({ status: 201 });
      expect(await create()).toMatchObject({ status: 201 });
      expect(small.logged()).not.toContain('"level":"error"');
    } finally {
      lock.close();
      await small.stop();
    }
  });

  test('do not include those whose bodies have not arrived: they take no slot', async () => {
    const small = await startTerseHere({ env: { TERSE_IN_FLIGHT_MAX: '1' } });
    // From another address, whose share it takes.
    const waiting = await RawConnection.open(small.url, { from: '127.0.0.2' });
    try {
      waiting.write(`${post}Expect: 100-continue\r\nContent-Length: ${body.length}\r\n\r\n`);
      await waiting.receives('100 Continue');
      const create = () =>
        callerOf(small.url)('POST', '/api/v1/links', { body: { longUrl: 'https://example.com/' } });
      expect(await create()).toMatchObject({ status: 201 });
      waiting.write(body);
      expect((await waiting.answers(1)).map(answer => answer.status)).toEqual([201]);
    } finally {
      waiting.abandon();
      await small.stop();
    }
  });
});

async function untilInProgress(url: string): Promise<void> {
  // The request for the metrics is in progress, too.
  await until('two requests in flight', async () => (await metricOf(url, 'terse_requests_in_flight')) >= 2);
}
