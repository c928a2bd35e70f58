import { afterAll, describe, expect, test } from 'bun:test';
import { until } from '../../test/kit/until.ts';
import { Problem, type ProblemCode } from '../base/errors.ts';
import * as reading from './read-json.ts';

const options = { bodyMaxBytes: 1000, share: { take() {} } };
const address = 'http://localhost/';
const readJson = async (...given: Parameters<typeof reading.readJson>) => reading.readJson(...given);

function post(
  body: string | Uint8Array<ArrayBuffer> | ReadableStream | null,
  headers: Record<string, string> = {},
): Request {
  const withType = { 'content-type': 'application/json', ...headers };
  return new Request(address, { method: 'POST', body, headers: withType });
}

async function problemOf(read: Promise<unknown>): Promise<Problem> {
  const outcome = await read.catch((error: unknown) => error);
  if (outcome instanceof Problem) return outcome;
  throw new Error(`expected a problem, got ${JSON.stringify(outcome)}`);
}

async function expectProblem(read: Promise<unknown>, code: ProblemCode, detail: string): Promise<void> {
  const problem = await problemOf(read);
  expect({ code: problem.code, detail: problem.detail }).toEqual({
    code,
    detail: expect.stringContaining(detail),
  });
}

/** A body that arrives in pieces and counts how many of them were asked for. */
function streamed(chunks: Iterable<Uint8Array>): {
  body: ReadableStream;
  pulled: () => number;
  wasCancelled: () => boolean;
} {
  const iterator = chunks[Symbol.iterator]();
  let pulledCount = 0;
  let isCancelled = false;
  // Nothing is prefetched, so every pull is one that the reader asked for.
  const strategy = { highWaterMark: 0 };
  const source = {
    pull(controller: ReadableStreamDefaultController<Uint8Array>) {
      pulledCount += 1;
      const { done, value } = iterator.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel() {
      isCancelled = true;
    },
  };
  const body = new ReadableStream(source, strategy);
  return { body, pulled: () => pulledCount, wasCancelled: () => isCancelled };
}

const encode = (text: string) => new TextEncoder().encode(text);

describe('the media type', () => {
  test.each([
    'application/json',
    'application/json; charset=utf-8',
    'Application/JSON',
    'application/merge-patch+json',
    'application/vnd.api+json;v=1',
  ])('%s is JSON', async type => {
    expect(await readJson(post('{"a":1}', { 'content-type': type }), options)).toEqual({ a: 1 });
  });

  test.each([
    'text/plain',
    'text/plain;application/json',
    'application/x-www-form-urlencoded',
    'application/jsonp',
    'multipart/form-data; boundary=x',
    'json',
    '+json',
    '',
  ])('"%s" is rejected', async type => {
    await expectProblem(
      readJson(post('{"a":1}', { 'content-type': type }), options),
      'unsupported_media_type',
      'application/json',
    );
  });

  test('may be missing', async () => {
    const request = new Request(address, { method: 'POST', body: encode('{"a":1}') });
    expect(request.headers.get('content-type')).toBeNull();
    expect(await readJson(request, options)).toEqual({ a: 1 });
  });

  test('does not make a compressed body acceptable', async () => {
    const compressed = post(Bun.gzipSync(encode('{}')), { 'content-encoding': 'gzip' });
    await expectProblem(readJson(compressed, options), 'unsupported_media_type', 'Content-Encoding');
    expect(await readJson(post('{}', { 'content-encoding': 'identity' }), options)).toEqual({});
  });
});

describe('the size', () => {
  const exactly = (bytes: number) => `"${'x'.repeat(bytes - 2)}"`;

  test('may be just the limit', async () => {
    expect(await readJson(post(exactly(1000)), options)).toBe('x'.repeat(998));
  });

  test('may not be one byte more', async () => {
    await expectProblem(readJson(post(exactly(1001)), options), 'body_too_large', '1000 bytes');
  });

  test('is counted in bytes, not in characters', async () => {
    await expectProblem(readJson(post(`"${'漢'.repeat(333)}"`), options), 'body_too_large', '1000 bytes');
  });

  test('that is announced too large is rejected without reading', async () => {
    const { body, pulled } = streamed([encode('{}')]);
    const request = post(body, { 'content-length': '1001' });
    await expectProblem(readJson(request, options), 'body_too_large', '1000 bytes');
    expect(pulled()).toBe(0);
    expect(request.bodyUsed).toBe(false);
  });

  test('that is announced too small does not let a large body in', async () => {
    const request = post(exactly(1001), { 'content-length': '5' });
    await expectProblem(readJson(request, options), 'body_too_large', '1000 bytes');
  });

  test('of a body that never ends is noticed as soon as it passes the limit', async () => {
    function* endless() {
      for (;;) yield encode('x'.repeat(100));
    }
    const { body, pulled, wasCancelled } = streamed(endless());
    await expectProblem(readJson(post(body), options), 'body_too_large', '1000 bytes');
    expect(pulled()).toBe(11);
    expect(wasCancelled()).toBe(true);
  });
});

describe('the bytes', () => {
  test('may come one by one', async () => {
    const text = JSON.stringify({ text: '漢字 😀'.repeat(20) });
    const { body } = streamed([...encode(text)].map(byte => Uint8Array.of(byte)));
    expect(await readJson(post(body), options)).toEqual(JSON.parse(text));
  });

  test('may be many times the first buffer', async () => {
    const value = Array.from({ length: 20_000 }, (_, number) => number);
    const bytes = encode(JSON.stringify(value));
    const { body } = streamed([bytes.subarray(0, 10), bytes.subarray(10, 70_000), bytes.subarray(70_000)]);
    expect(await readJson(post(body), { ...options, bodyMaxBytes: 1_000_000 })).toEqual(value);
  });

  test('may start with a byte order mark', async () => {
    expect(await readJson(post(encode('\ufeff{"a":1}')), options)).toEqual({ a: 1 });
  });

  test('may not start with two, and says so', () => {
    const problem = 'Expected a value but found U+FEFF at line 1, column 1.';
    expect(readJson(post(encode('\ufeff\ufeff{"a":1}')), options)).rejects.toThrow(problem);
  });

  test.each([
    ['a stray byte', [0x22, 0xff, 0x22]],
    ['a character cut in two', [0x22, 0xe6, 0xbc]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['an encoded surrogate', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00, 0x7d, 0x00]],
  ])('may not hold %s', async (_what, bytes) => {
    await expectProblem(readJson(post(Uint8Array.from(bytes)), options), 'invalid_json', 'not valid UTF-8');
    // A rejected body must not affect the next one.
    expect(await readJson(post('[]'), options)).toEqual([]);
  });

  test('must be there', async () => {
    await expectProblem(readJson(post(''), options), 'invalid_json', 'empty');
    await expectProblem(readJson(post(null), options), 'invalid_json', 'empty');
    await expectProblem(readJson(post(streamed([]).body), options), 'invalid_json', 'empty');
  });

  test('must all arrive', async () => {
    const body = new ReadableStream({
      start(controller) {
        controller.enqueue(encode('{"a":'));
        controller.error(new Error('connection reset'));
      },
    });
    await expectProblem(readJson(post(body), options), 'invalid_json', 'before it was complete');
  });
});

test('broken JSON is rejected as such', async () => {
  await expectProblem(readJson(post('{"a":1,}'), options), 'invalid_json', 'line 1, column 8');
});

describe('over a real connection', () => {
  let lastError: unknown;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch: async request => {
      try {
        return Response.json(await readJson(request, options));
      } catch (error) {
        lastError = error;
        return new Response(null, { status: error instanceof Problem ? error.status : 500 });
      }
    },
  });
  afterAll(() => server.stop(true));

  const send = (body: string | ReadableStream) =>
    fetch(server.url, { method: 'POST', body, headers: { 'content-type': 'application/json' } });

  test('a body is read, announced or chunked', async () => {
    expect(await (await send('{"a":[1,2]}')).json()).toEqual({ a: [1, 2] });
    expect(await (await send(streamed([encode('{"a":'), encode('[1,2]}')]).body)).json()).toEqual({
      a: [1, 2],
    });
  });

  test('a body that is too large is answered, announced or chunked', async () => {
    expect((await send('x'.repeat(5000))).status).toBe(413);
    const chunks = Array.from({ length: 50 }, () => encode('x'.repeat(100)));
    expect((await send(streamed(chunks).body)).status).toBe(413);
    expect((await send('[]')).status).toBe(200);
  });

  test('a body that ends before its announced length is rejected', async () => {
    lastError = undefined;
    const head = 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n';
    const socket = await Bun.connect({ hostname: '127.0.0.1', port: server.port!, socket: { data() {} } });
    socket.write(`${head}{"a":`);
    socket.flush();
    await Bun.sleep(20);
    socket.end();
    await until('the rejection', () => lastError !== undefined);
    expect(lastError).toBeInstanceOf(Problem);
    expect((await send('[]')).status).toBe(200);
  });
});
