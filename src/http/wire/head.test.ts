import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../../base/errors.ts';
import { Fields } from './fields.ts';
import { parseRequestLine, type RequestLine } from './head.ts';
import { WireRequest } from './wire-request.ts';

function lineOf(text: string): RequestLine {
  return parseRequestLine(`${text}\r\n\r\n`, 0, text.length);
}

function refusalOf(text: string): number | undefined {
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
  ])('%j is refused', text => {
    expect(refusalOf(text)).toBe(400);
  });

  test.each(['GET / HTTP/2.0', 'PRI * HTTP/2.0', 'GET / HTTP/0.9', 'GET / HTTP/1.2'])(
    '%j is of a version that is not spoken',
    text => {
      expect(refusalOf(text)).toBe(505);
    },
  );
});

test('whatever the bytes are, a line is refused or leads to a path of ours', () => {
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
      const refusal = refusalOf(text);
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
