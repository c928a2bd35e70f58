/** Compressed answers over real sockets: what is, what is not, and what a client sees of it. */
import { afterEach, describe, expect, test } from 'bun:test';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { parseAnswers, type RawAnswer } from '../../../test/kit/raw-http.ts';
import { answerOf, streamed } from './answer.ts';
import { wishOf } from './content-coding.ts';
import { FakeClients, someTurns, until } from './fake-clients.ts';
import type { FakeHandle } from './fake-wire.ts';

const clients = new FakeClients();
afterEach(() => clients.end());

const text = 'Ünïcode, and much of it repeats. '.repeat(100);
const json = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
const decoders: Record<string, (bytes: Buffer) => Buffer> = {
  zstd: zstdDecompressSync,
  br: brotliDecompressSync,
  gzip: gunzipSync,
};

/** The bytes of an answer, decoded as it says. */
function decoded({ headers, body }: RawAnswer): string {
  const bytes = Buffer.from(body, 'latin1');
  const coding = headers['content-encoding'];
  return (coding === undefined ? bytes : decoders[coding]!(bytes)).toString();
}

async function answerTo(handle: FakeHandle, headers: string, method = 'GET'): Promise<RawAnswer> {
  const wire = clients.start({ handle });
  const client = await clients.open(wire);
  client.write(`${method} / HTTP/1.1\r\nHost: h\r\nConnection: close\r\n${headers}\r\n`);
  const received = await client.textUntilClosed();
  expect(wire.faults).toEqual([]);
  const headEnd = received.indexOf('\r\n\r\n') + 4;
  const body = received.slice(headEnd);
  const head = received.slice(0, headEnd).replace(/^Content-Length:.*\r\n/m, '');
  const [answer] = parseAnswers(head);
  const length = /^Content-Length: (\d+)/m.exec(received)?.[1];
  if (method === 'GET' && length !== undefined) expect(body.length).toBe(Number(length));
  const isChunked = answer!.headers['transfer-encoding'] === 'chunked';
  return {
    ...answer!,
    headers: { ...answer!.headers, ...(length !== undefined && { 'content-length': length }) },
    body: isChunked ? dechunked(body) : body,
  };
}

function dechunked(text: string): string {
  const end = text.indexOf('\r\n');
  const length = Number.parseInt(text.slice(0, end), 16);
  if (length === 0) return '';
  return text.slice(end + 2, end + 2 + length) + dechunked(text.slice(end + 4 + length));
}

const respond =
  (body: string, headers: Record<string, string> = json): FakeHandle =>
  async () =>
    new Response(body, { headers });

describe('Accept-Encoding', () => {
  for (const [header, coding, refusesPlain] of [
    [null, undefined, false],
    ['', undefined, false],
    ['identity', undefined, false],
    ['gzip, deflate, br, zstd', 'zstd', false],
    ['gzip, deflate, br', 'br', false],
    ['gzip', 'gzip', false],
    ['GZIP;Q=0.5', 'gzip', false],
    ['x-gzip', 'gzip', false],
    ['zstd;q=0.1, gzip;q=0.9, br;q=0.5', 'gzip', false],
    ['zstd;q=0, br;q=0, gzip;q=0', undefined, false],
    ['*', 'zstd', false],
    ['zstd;q=0, *', 'br', false],
    ['gzip;q=0.5, identity;q=1', undefined, false],
    ['identity;q=0, gzip', 'gzip', true],
    ['*;q=0, gzip', 'gzip', true],
    ['*;q=0', undefined, true],
    ['deflate, compress', undefined, false],
    ['gzip;q=2, br;x=1, ;;;', undefined, false],
  ] as const)
    test(`${header} leads to ${coding ?? 'no coding'}`, () => {
      expect(wishOf(header)).toEqual({ coding, refusesPlain });
    });
});

describe('an answer of more than a kilobyte', () => {
  for (const coding of ['zstd', 'br', 'gzip'])
    for (const [kind, handle] of [
      ['whole', respond(text)],
      ['long', respond(text.repeat(20))],
      ['kept', respond(text, { 'Content-Type': 'text/html', 'Cache-Control': 'public' })],
      ['prepared', () => answerOf(200, json, text)],
      ['streamed', async () => streamed(new Response(text.repeat(20)).body!, json)],
    ] as [string, FakeHandle][])
      test(`is sent in ${coding}: ${kind}`, async () => {
        const plain = await answerTo(handle, '');
        expect([plain.headers['content-encoding'], plain.headers.vary]).toEqual([
          undefined,
          'Accept-Encoding',
        ]);
        const coded = await answerTo(handle, `Accept-Encoding: ${coding}\r\n`);
        expect([coded.headers['content-encoding'], coded.headers.vary]).toEqual([coding, 'Accept-Encoding']);
        expect(coded.body.length).toBeLessThan(plain.body.length / 5);
        expect(decoded(coded)).toBe(decoded(plain));
        const head = await answerTo(handle, `Accept-Encoding: ${coding}\r\n`, 'HEAD');
        const { 'transfer-encoding': _framing, ...expected } = coded.headers;
        expect({ ...head.headers, date: '' }).toEqual({
          ...expected,
          date: '',
        });
        expect(head.body).toBe('');
      });

  test('is sent as it is where that must be', async () => {
    for (const [why, headers] of Object.entries({
      'it holds a secret': { ...json, 'Cache-Control': 'no-store, no-transform' },
      'it sets a cookie': { ...json, 'Set-Cookie': 'session=secret' },
      'it is compressed': { 'Content-Type': 'image/png' },
      'it was compressed by its handler': { ...json, 'Content-Encoding': 'br' },
      'it is a part': { ...json, 'Content-Range': 'bytes 0-9/10' },
      'its type is unknown': { 'Content-Type': 'application/octet-stream' },
    })) {
      const answer = await answerTo(respond(text, headers), 'Accept-Encoding: gzip, identity;q=0\r\n');
      expect([why, answer.body]).toEqual([why, Buffer.from(text).toString('latin1')]);
      expect(answer.headers.vary).toBeUndefined();
    }
    const secret = { ...json, 'Cache-Control': 'no-store, no-transform' };
    const prepared = await answerTo(() => answerOf(200, secret, text), 'Accept-Encoding: gzip\r\n');
    expect(prepared.headers['content-encoding']).toBeUndefined();
  });

  test('is an event stream: each event leaves at once', async () => {
    const events = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(Buffer.from(`data: ${text}\n\n`)),
    });
    const wire = clients.start({
      handle: async () => streamed(events, { 'Content-Type': 'text/event-stream' }),
    });
    const client = await clients.open(wire);
    client.write('GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n');
    await client.receives(`data: ${Buffer.from(text).toString('latin1')}`);
  });
});

test('a short answer is compressed only for a client that rejects plain ones', async () => {
  expect((await answerTo(respond('short'), 'Accept-Encoding: gzip\r\n')).headers).not.toHaveProperty('vary');
  const coded = await answerTo(respond('short'), 'Accept-Encoding: gzip, identity;q=0\r\n');
  expect([coded.headers['content-encoding'], decoded(coded)]).toEqual(['gzip', 'short']);
});

test('each coding has its own validator, and a handler sees its own again', async () => {
  const headers = { 'Content-Type': 'text/css', 'Cache-Control': 'public', ETag: '"v1"' };
  const handle: FakeHandle = async request =>
    request.toRequest().headers.get('if-none-match') === '"v1"'
      ? new Response(null, { status: 304, headers })
      : new Response(text, { headers });
  expect((await answerTo(handle, '')).headers.etag).toBe('"v1"');
  expect((await answerTo(handle, 'Accept-Encoding: br\r\n')).headers.etag).toBe('"v1-br"');
  const again = await answerTo(handle, 'Accept-Encoding: br\r\nIf-None-Match: "v1-br"\r\n');
  expect([again.status, again.headers.etag, again.headers.vary]).toEqual([304, '"v1-br"', 'Accept-Encoding']);
  expect((await answerTo(handle, 'If-None-Match: "v2-br"\r\n')).status).toBe(200);
});

describe('a compressed stream', () => {
  /** Random text, because nothing else fills a client's buffers once it is compressed. */
  const endless = () => {
    const state = { pulled: 0, isCancelled: false };
    const body = new ReadableStream<Uint8Array>(
      {
        pull(controller) {
          state.pulled += 1;
          controller.enqueue(crypto.getRandomValues(new Uint8Array(64 * 1024)));
        },
        cancel() {
          state.isCancelled = true;
        },
      },
      { highWaterMark: 0 },
    );
    return { state, handle: async () => streamed(body, { 'Content-Type': 'text/csv' }) };
  };
  const request = 'GET / HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\n';

  test('is produced at the pace of its reader, and cancelled when the reader leaves', async () => {
    const { state, handle } = endless();
    const wire = clients.start({ handle });
    const client = await clients.open(wire);
    client.pause();
    client.write(request);
    await until(() => wire.listener.heldBytes > 0);
    await someTurns();
    const { pulled } = state;
    await someTurns();
    expect(state.pulled).toBeLessThan(pulled + 5);
    client.abandon();
    await until(() => state.isCancelled);
  });

  test('ends with its connection when its source fails', async () => {
    let isFirst = true;
    const failing = new ReadableStream<Uint8Array>({
      pull(controller) {
        if (!isFirst) throw new Error('the source failed');
        isFirst = false;
        controller.enqueue(Buffer.from(text));
      },
    });
    const wire = clients.start({ handle: async () => streamed(failing, json) });
    const client = await clients.open(wire);
    client.write(request);
    expect(await client.textUntilClosed()).not.toContain('\r\n0\r\n\r\n');
    expect(wire.faults).toMatchObject([{ message: 'the source failed' }]);
  });

  test('is one of a limited number', async () => {
    const waiting = Array.from({ length: 64 }, endless);
    const wire = clients.start({ handle: ({ path }) => waiting[Number(path.slice(1))]!.handle() });
    const open = async (path: string) => {
      const client = await clients.open(wire);
      client.pause();
      client.write(request.replace('/', path));
      return client;
    };
    const all = [];
    for (const index of waiting.keys()) all.push(await open(`/${index}`));
    await until(() => waiting.every(({ state }) => state.pulled > 0));
    const handle = async () => streamed(new Response(text).body!, json);
    expect((await answerTo(handle, 'Accept-Encoding: gzip\r\n')).headers['content-encoding']).toBeUndefined();
    for (const client of all) client.abandon();
    await until(() => waiting.every(({ state }) => state.isCancelled));
    await someTurns();
    expect((await answerTo(handle, 'Accept-Encoding: gzip\r\n')).headers['content-encoding']).toBe('gzip');
  });
});
