import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../../base/errors.ts';
import { Fields, parseFields } from './fields.ts';
import { HeadReader, headWindowBytes, parseRequestLine, type RequestLine } from './head.ts';
import { WireRequest } from './wire-request.ts';

function lineOf(text: string): RequestLine {
  return parseRequestLine(`${text}\r\n\r\n`, 0, text.length);
}

function lineRefusalOf(text: string): number | undefined {
  try {
    lineOf(text);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
}

describe('a request line', () => {
  test.each<[line: string, method: string, path: string, query: string, isOldVersion: boolean]>([
    ['GET / HTTP/1.1', 'GET', '/', '', false],
    ['GET /abc HTTP/1.0', 'GET', '/abc', '', true],
    ['HEAD /abc?x=1&y=%20 HTTP/1.1', 'HEAD', '/abc', 'x=1&y=%20', false],
    ['GET /a?b?c HTTP/1.1', 'GET', '/a', 'b?c', false],
    ['GET /? HTTP/1.1', 'GET', '/', '', false],
    ['BREW /pot HTTP/1.1', 'BREW', '/pot', '', false],
    ['GET /a/../b/./c//d HTTP/1.1', 'GET', '/a/../b/./c//d', '', false],
    ['GET //evil.example/x HTTP/1.1', 'GET', '//evil.example/x', '', false],
    ['GET /%2e%2E/%00 HTTP/1.1', 'GET', '/%2e%2E/%00', '', false],
    ['GET /a\\b"<> HTTP/1.1', 'GET', '/a\\b"<>', '', false],
    ['GET /a#b?c HTTP/1.1', 'GET', '/a#b', 'c', false],
    ['GET /a?b#c HTTP/1.1', 'GET', '/a', 'b', false],
    ['GET /caf\xc3\xa9?\xff HTTP/1.1', 'GET', '/caf%C3%A9', '%FF', false],
    ['GET http://host.example/a?b HTTP/1.1', 'GET', '/a', 'b', false],
    ['GET HTTPS://host.example HTTP/1.1', 'GET', '/', '', false],
    ['GET http://host.example?b HTTP/1.1', 'GET', '/', 'b', false],
    ['GET http://user@host:80/a HTTP/1.1', 'GET', '/a', '', false],
  ])('%j is understood', (text, method, path, query, isOldVersion) => {
    expect(lineOf(text)).toEqual({ method, path, query, isOldVersion });
  });

  test.each([
    '',
    'GET',
    'GET /',
    'GET  / HTTP/1.1',
    'GET / HTTP/1.1 ',
    ' GET / HTTP/1.1',
    'GET / a HTTP/1.1',
    'GET\t/\tHTTP/1.1',
    'get / HTTP/1.1',
    'G\0T / HTTP/1.1',
    'ABCDEFGHIJKLMNOPQ / HTTP/1.1',
    'GET abc HTTP/1.1',
    'GET * HTTP/1.1',
    'CONNECT host.example:443 HTTP/1.1',
    'GET http:///a HTTP/1.1',
    'GET ftp://host.example/ HTTP/1.1',
    'GET /a\rb HTTP/1.1',
    'GET /a\nb HTTP/1.1',
    'GET /a\0 HTTP/1.1',
    'GET /a\x7f HTTP/1.1',
    'GET / http/1.1',
    'GET / HTTP/1.1\nHost: h',
    'GET / HTTP/11',
    'GET / HTTP/1.10',
    'GET / HTTX/1.1',
  ])('%j is rejected', text => {
    expect(lineRefusalOf(text)).toBe(400);
  });

  test.each(['GET / HTTP/2.0', 'PRI * HTTP/2.0', 'GET / HTTP/0.9', 'GET / HTTP/1.2'])(
    '%j has a version that is not supported',
    text => {
      expect(lineRefusalOf(text)).toBe(505);
    },
  );
});

test('whatever the bytes are, a line is rejected or leads to a path of ours', () => {
  const piece = fc.oneof(
    fc.constantFrom('GET', 'POST', ' ', '/', 'http://', 'HTTP/1.1', 'HTTP/1.0', '?', '#', '\\', '@', ':'),
    fc.integer({ min: 0, max: 255 }).map(byte => String.fromCharCode(byte)),
  );
  const anything = fc.array(piece, { maxLength: 12 }).map(pieces => pieces.join(''));
  const nearly = anything.map(target => `GET /${target} HTTP/1.1`);
  const absolute = anything.map(target => `GET http://${target} HTTP/1.1`);
  fc.assert(
    fc.property(fc.oneof(anything, nearly, absolute), text => {
      fc.pre(!text.includes('\r\n'));
      const refusal = lineRefusalOf(text);
      if (refusal !== undefined) return refusal === 400 || refusal === 505;
      const line = lineOf(text);
      const url = new URL(new WireRequest(line, new Fields([], []), { address: '' }).toRequest().url);
      return (
        /^[A-Z]{1,16}$/.test(line.method) &&
        /^\/[\x21-\x7e]*$/.test(line.path) &&
        !line.path.includes('?') &&
        /^[\x21-\x7e]*$/.test(line.query) &&
        !line.query.includes('#') &&
        url.host === 'localhost'
      );
    }),
    { numRuns: 5_000 },
  );
});

const host = 'Host: localhost\r\n';

function refusalOf(text: string): number | undefined {
  try {
    new HeadReader().read(text.slice(0, headWindowBytes), 0);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
}

describe('a head', () => {
  test('is read once its end is there, and not before', () => {
    const text = `GET /abc HTTP/1.1\r\n${host}\r\n`;
    for (let length = 0; length < text.length; length += 1) {
      expect(new HeadReader().read(text.slice(0, length), 0)).toBeUndefined();
    }
    const reader = new HeadReader();
    expect(reader.read(`${text}GET`, 0)).toMatchObject({ method: 'GET', path: '/abc' });
    expect(reader.end).toBe(text.length);
    expect(reader.fields.get('host')).toBe('localhost');
  });

  test('may come after empty lines, which are skipped', () => {
    const reader = new HeadReader();
    expect(reader.read('\r\n\r\n', 0)).toBeUndefined();
    expect(reader.end).toBe(4);
    expect(reader.read(`\r\nGET / HTTP/1.1\r\n${host}\r\n`, 0)).toMatchObject({ path: '/' });
  });

  test('needs a host, except in HTTP/1.0', () => {
    expect(refusalOf('GET / HTTP/1.1\r\nAccept: a\r\n\r\n')).toBe(400);
    expect(refusalOf('GET / HTTP/1.1\r\n\r\n')).toBe(400);
    expect(refusalOf('GET / HTTP/1.0\r\n\r\n')).toBeUndefined();
  });

  test('has no chunks in HTTP/1.0', () => {
    expect(refusalOf('POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n')).toBe(400);
  });
});

describe('headers that are repeated', () => {
  test('are not read again', () => {
    const reader = new HeadReader();
    const two = `GET /a HTTP/1.1\r\n${host}\r\nGET /b HTTP/1.1\r\n${host}\r\n`;
    expect(reader.read(two, 0)).toMatchObject({ path: '/a' });
    const { fields } = reader;
    expect(reader.read(two, reader.end)).toMatchObject({ path: '/b' });
    expect(reader.fields).toBe(fields);
    expect(reader.end).toBe(two.length);
  });

  test('are those of the new request as soon as one letter differs', () => {
    const reader = new HeadReader();
    reader.read(`GET /a HTTP/1.1\r\n${host}\r\n`, 0);
    for (const lines of [
      `${host}A: b\r\n`,
      `${host}a: b\r\n`,
      host,
      `A: b\r\n${host}`,
      'Host: localhosT\r\n',
    ]) {
      reader.read(`GET /a HTTP/1.1\r\n${lines}\r\n`, 0);
      expect([...reader.fields.toHeaders()]).toEqual([...new Headers(linesOf(lines))]);
    }
  });

  test('are checked again with each request line', () => {
    const reader = new HeadReader();
    reader.read('GET / HTTP/1.0\r\n\r\n', 0);
    expect(() => reader.read('GET / HTTP/1.1\r\n\r\n', 0)).toThrow(Problem);
    const chunked = `${host}Transfer-Encoding: chunked\r\n\r\n`;
    reader.read(`POST / HTTP/1.1\r\n${chunked}`, 0);
    expect(() => reader.read(`POST / HTTP/1.0\r\n${chunked}`, 0)).toThrow(Problem);
  });

  test('are forgotten on demand', () => {
    const reader = new HeadReader();
    const text = `GET /a HTTP/1.1\r\n${host}\r\n`;
    reader.read(text, 0);
    const { fields } = reader;
    reader.forget();
    expect(reader.read(text, 0)).toMatchObject({ path: '/a' });
    expect(reader.fields).not.toBe(fields);
  });

  test('of many clients with the same headers are the same, and what is derived from them is not', () => {
    const text = `GET /a HTTP/1.1\r\n${host}Accept-Language: de\r\n\r\n`;
    const [one, other] = [new HeadReader(), new HeadReader()];
    one.read(text, 0);
    one.fields.memo = { of: 'one' };
    other.read(text, 0);
    expect([...other.fields.toHeaders()]).toEqual([...one.fields.toHeaders()]);
    expect(other.fields).toMatchObject({
      hasHost: true,
      bodyBytes: 0,
      persistence: undefined,
      memo: undefined,
    });
  });

  test('that tell one client from another are not kept for others', () => {
    for (const name of ['Cookie', 'AUTHORIZATION', 'X-Api-Key', 'X-Forwarded-For'])
      expect(parseFields(`\r\n${name}: a\r\n`, 0, `\r\n${name}: a`.length).isCommon).toBe(false);
    expect(parseFields('\r\nAccept: a\r\n', 0, '\r\nAccept: a'.length).isCommon).toBe(true);
  });

  test('do not depend on which headers came before', () => {
    for (let round = 0; round < 3; round += 1) {
      for (let client = 0; client < 600; client += 1) {
        // Many of the same length, some of them several times in a row.
        for (const _ of [1, 2, 3, 4].slice(client % 4)) {
          const reader = new HeadReader();
          const text = `GET /a HTTP/1.1\r\n${host}X-Client: ${client}\r\n\r\n`;
          const pathEnd = reader.pathEndIn(Buffer.from(text));
          if (pathEnd === 0) reader.read(text, 0);
          else expect(pathEnd).toBe(text.indexOf(' HTTP'));
          expect(reader.fields.get('x-client')).toBe(String(client));
          expect(reader.fields.memo).toBeUndefined();
          reader.fields.memo = reader;
        }
      }
    }
  });

  const linesOf = (lines: string): [string, string][] =>
    lines
      .split('\r\n')
      .slice(0, -1)
      .map(line => line.split(': ') as [string, string]);
});

describe('a head of 16 KB', () => {
  const start = `GET / HTTP/1.1\r\n${host}X-A: `;
  const ofLength = (length: number) => start + 'a'.repeat(length - start.length);

  test('is taken, and a byte more is rejected, in however many pieces they come', () => {
    const largest = ofLength(16 * 1024);
    const tooLarge = ofLength(16 * 1024 + 1);
    expect(refusalOf(`${largest}\r\n\r\n`)).toBeUndefined();
    expect(refusalOf(`${tooLarge}\r\n\r\n`)).toBe(431);
    expect(refusalOf(`${largest}\r\n\r`)).toBeUndefined();
    expect(refusalOf(`${largest}aaaa`)).toBe(431);
    expect(refusalOf('a'.repeat(headWindowBytes - 1))).toBeUndefined();
    expect(refusalOf('a'.repeat(headWindowBytes))).toBe(431);
  });
});
