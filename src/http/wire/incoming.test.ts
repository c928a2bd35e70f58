import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { Incoming } from './incoming.ts';
import type { WireRequest } from './wire-request.ts';

/** The bytes of a client, and the calls that it and its socket got. */
function incoming() {
  const calls: string[] = [];
  const socket = { pause: () => calls.push('pause'), resume: () => calls.push('resume') };
  const incoming = new Incoming(socket, { address: '127.0.0.1', sayContinue: () => calls.push('continue') });
  return { incoming, calls };
}

const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1');

interface Seen {
  readonly method: string;
  readonly path: string;
  readonly headers: [string, string][];
  readonly body: string;
}

async function seen({ method, path, headers, body }: WireRequest): Promise<Seen> {
  const content = body === undefined ? '' : Buffer.from(await new Response(body).bytes()).toString('latin1');
  return { method, path, headers: [...headers.toHeaders()], body: content };
}

/** Every request in the pieces, as seen by a handler that takes each one at once. */
async function requestsIn(pieces: readonly string[]): Promise<Seen[]> {
  const { incoming: source } = incoming();
  const requests: Promise<Seen>[] = [];
  for (const piece of pieces) {
    source.add(bytesOf(piece));
    for (let request = source.next(); request !== undefined; request = source.next()) {
      requests.push(seen(request));
    }
    source.rest();
  }
  expect(source.isEmpty).toBe(true);
  return Promise.all(requests);
}

const headers = fc.constantFrom('', 'Accept: a\r\n', `X-Long: ${'x'.repeat(5_000)}\r\n`);
const content = fc.string({ unit: 'binary-ascii', maxLength: 60 });
const request = fc.oneof(
  fc
    .record({ lines: headers, emptyLines: fc.constantFrom('', '\r\n', '\r\n\r\n') })
    .map(({ lines, emptyLines }) => ({
      text: `${emptyLines}GET /read HTTP/1.1\r\nHost: h\r\n${lines}\r\n`,
      body: '',
    })),
  fc.record({ lines: headers, body: content }).map(({ lines, body }) => ({
    text: `POST /sized HTTP/1.1\r\nHost: h\r\n${lines}Content-Length: ${body.length}\r\n\r\n${body}`,
    body,
  })),
  fc
    .record({
      lines: headers,
      parts: fc.array(
        content.filter(part => part !== ''),
        { maxLength: 4 },
      ),
    })
    .map(({ lines, parts }) => ({
      text: `POST /chunked HTTP/1.1\r\nHost: h\r\n${lines}Transfer-Encoding: chunked\r\n\r\n${parts
        .map(part => `${part.length.toString(16)}\r\n${part}\r\n`)
        .join('')}0\r\n\r\n`,
      body: parts.join(''),
    })),
);

function cutAt(text: string, cuts: readonly number[]): string[] {
  const edges = [0, ...cuts.map(cut => cut % (text.length + 1)), text.length].sort((a, b) => a - b);
  return edges.slice(1).map((edge, index) => text.slice(edges[index], edge));
}

test.each(['code-1_x', 'a?b=c', 'a%41', 'a#b', 'a/b', 'caf\xe9', '..'])(
  'a request that repeats the last but for its path, /%s, is what it would be if it were parsed',
  async path => {
    const textOf = (name: string) => `GET /${name} HTTP/1.1\r\nHost: h\r\nAccept: a\r\n\r\n`;
    const take = (source: Incoming, name: string, mayRepeat = true): WireRequest => {
      const chunk = bytesOf(textOf(name));
      if (mayRepeat) source.repeatedPathEnd(chunk);
      source.add(chunk);
      const request = source.next()!;
      expect(source.next()).toBeUndefined();
      source.rest();
      expect(source.isEmpty).toBe(true);
      return request;
    };
    const { incoming: repeating } = incoming();
    for (const name of ['first', 'second']) take(repeating, name);
    expect(repeating.repeatedPathEnd(bytesOf(textOf(path)))).toBeGreaterThan(0);
    const [repeated, parsed] = [take(repeating, path), take(incoming().incoming, path, false)];
    expect(await seen(repeated)).toEqual(await seen(parsed));
    expect([repeated.query, repeated.isOldVersion]).toEqual([parsed.query, parsed.isOldVersion]);
  },
);

test('a request that repeats the last one is held to the limit of a head, and empty lines before it are forgotten', () => {
  const { incoming: repeating } = incoming();
  const textOf = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
  const take = (text: string): WireRequest | undefined => {
    repeating.repeatedPathEnd(bytesOf(text));
    repeating.add(bytesOf(text));
    const request = repeating.next();
    if (request !== undefined) repeating.rest();
    return request;
  };
  for (const path of ['/a', '/b']) expect(take(textOf(path))?.path).toBe(path);
  for (let turn = 0; turn < 9; turn += 1) {
    expect(take('\r\n')).toBeUndefined();
    expect(take(textOf('/c'))?.path).toBe('/c');
  }
  expect(() => take(textOf(`/${'x'.repeat(20_000)}`))).toThrow('A request head may have at most');
});

describe('requests', () => {
  test('are the same ones, whatever pieces they come in', async () => {
    const cuts = fc.array(fc.nat(), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), cuts, async (sent, places) => {
        const text = sent.map(each => each.text).join('');
        const whole = await Promise.all(sent.map(each => requestsIn([each.text])));
        expect(whole.flat().map(({ body }) => body)).toEqual(sent.map(({ body }) => body));
        expect(await requestsIn(cutAt(text, places))).toEqual(whole.flat());
        expect(await requestsIn([text])).toEqual(whole.flat());
      }),
    );
  });

  test('are the same ones a byte at a time', async () => {
    const text =
      'GET /a HTTP/1.1\r\nHost: h\r\n\r\nPOST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n' +
      '2\r\nhi\r\n0\r\n\r\nGET /c HTTP/1.1\r\nHost: h\r\n\r\n';
    expect(await requestsIn([...text])).toEqual(await requestsIn([text]));
  });

  test('are rejected as too large, whatever pieces they come in', () => {
    const text = `GET / HTTP/1.1\r\nHost: h\r\nX-A: ${'a'.repeat(16 * 1024)}\r\n\r\n`;
    for (const pieceBytes of [text.length, 16 * 1024, 5_000, 100]) {
      const { incoming: source } = incoming();
      const closeAll = () => {
        for (let at = 0; at < text.length; at += pieceBytes) {
          source.add(bytesOf(text.slice(at, at + pieceBytes)));
          expect(source.next()).toBeUndefined();
          source.rest();
        }
      };
      expect(closeAll).toThrow('at most 16384 bytes');
    }
  });
});

describe('pipelined bytes', () => {
  const ahead = 'GET / HTTP/1.1\r\nHost: h\r\n\r\n';

  test('wait without being read, and beyond 64 KB the socket pauses until they are read', () => {
    const { incoming: source, calls } = incoming();
    for (let pieces = 0; pieces < 64; pieces += 1) {
      source.add(Buffer.alloc(1_024, ahead));
      source.rest();
    }
    expect(calls).toEqual([]);
    source.add(bytesOf('G'));
    source.rest();
    expect(calls).toEqual(['pause']);
    expect(source.isHeldUp).toBe(true);
    expect(source.heldBytes).toBe(64 * 1_024 + 1);
    source.resume();
    source.resume();
    expect(calls).toEqual(['pause', 'resume']);
  });

  test('keep nothing of the bytes before them', () => {
    const { incoming: source } = incoming();
    source.add(bytesOf(`${ahead.repeat(1_000)}GET`));
    while (source.next() !== undefined);
    source.rest();
    expect(source.heldBytes).toBe(3);
  });

  test('are dropped with all that follows once there is no reader', () => {
    const { incoming: source, calls } = incoming();
    source.add(Buffer.alloc(70_000, ahead));
    source.rest();
    source.ignoreAll();
    source.add(bytesOf(ahead));
    expect(calls).toEqual(['pause', 'resume']);
    expect({ held: source.heldBytes, next: source.next() }).toEqual({ held: 0, next: undefined });
  });
});

describe('a body on its way', () => {
  const post = 'POST / HTTP/1.1\r\nHost: h\r\n';

  function begun(lines: string, body = '') {
    const { incoming: source, calls } = incoming();
    source.add(bytesOf(`${post}${lines}\r\n${body}`));
    const request = source.next()!;
    source.rest();
    return { source, calls, request };
  }

  test('with broken framing is the last thing that is parsed', async () => {
    const { source, request } = begun('Transfer-Encoding: chunked\r\n', '2\r\nhi\r\n');
    source.add(bytesOf('zz\r\n'));
    expect(source.leavesMuch).toBe(true);
    source.add(bytesOf(`0\r\n\r\n${post}\r\n`));
    expect(source.hasBytes).toBe(false);
    expect(new Response(request.body).text()).rejects.toBeInstanceOf(Problem);
  });

  test('that is broken from the start gets its request rejected', () => {
    const { incoming: source } = incoming();
    source.add(bytesOf(`${post}Transfer-Encoding: chunked\r\n\r\nzz\r\n`));
    expect(() => source.next()).toThrow(Problem);
  });

  test('is asked for when its client waits for that, once a handler reads', async () => {
    const { source, calls, request } = begun('Expect: 100-Continue\r\nContent-Length: 5\r\n');
    expect({ calls, isHeldUp: source.isHeldUp }).toEqual({ calls: [], isHeldUp: true });
    const body = new Response(request.body).text();
    await yieldToEventLoop();
    expect({ calls, isHeldUp: source.isHeldUp }).toEqual({ calls: ['continue'], isHeldUp: false });
    source.add(bytesOf('hello'));
    expect(await body).toBe('hello');
  });

  test.each([
    ['its client does not wait', 'Content-Length: 5\r\n', ''],
    ['some of it has come', 'Expect: 100-continue\r\nContent-Length: 5\r\n', 'h'],
  ])('is not asked for when %s', async (_what, lines, part) => {
    const { source, calls, request } = begun(lines, part);
    const body = new Response(request.body).text();
    await yieldToEventLoop();
    source.add(bytesOf('hello'.slice(part.length)));
    expect(await body).toBe('hello');
    expect(calls).toEqual([]);
  });

  test('is not asked for in HTTP/1.0, which knows no such thing', async () => {
    const { incoming: source, calls } = incoming();
    source.add(bytesOf('POST / HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n'));
    const body = new Response(source.next()!.body).text();
    await yieldToEventLoop();
    source.add(bytesOf('a'));
    expect(await body).toBe('a');
    expect(calls).toEqual([]);
  });

  test.each([
    ['little is missing', 'Content-Length: 65536\r\n', '', false],
    ['much is missing', 'Content-Length: 65537\r\n', '', true],
    ['its length is unknown', 'Transfer-Encoding: chunked\r\n', '', true],
    ['its client may or may not send it', 'Expect: 100-continue\r\nContent-Length: 5\r\n', '', true],
    ['its client has begun to send it', 'Expect: 100-continue\r\nContent-Length: 5\r\n', 'h', false],
    ['nothing is missing', 'Content-Length: 5\r\n', 'hello', false],
  ])('when %s ends the connection: %p', (_what, lines, part, leavesMuch) => {
    expect(begun(lines, part).source.leavesMuch).toBe(leavesMuch as boolean);
  });
});
