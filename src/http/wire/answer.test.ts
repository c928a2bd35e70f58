import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { answerOf, headOf, isStreamed, streamed } from './answer.ts';

describe('an answer', () => {
  test('is a status line, its headers and the length of its body in bytes', () => {
    expect(answerOf(410, { 'Content-Type': 'text/html', Allow: 'GET' }, '<p>“gone”</p>')).toEqual({
      status: 410,
      head: 'HTTP/1.1 410 Gone\r\nContent-Type: text/html\r\nAllow: GET\r\nContent-Length: 17\r\n',
      body: '<p>“gone”</p>',
      isAscii: false,
    });
  });

  test('of an unknown status has no reason', () => {
    expect(answerOf(299, {}, '').head).toStartWith('HTTP/1.1 299 \r\n');
  });

  test.each([
    ['a line end', 'a\r\nSet-Cookie: b=c'],
    ['a bare line feed', 'a\nb'],
    ['a bare carriage return', 'a\rb'],
    ['NUL', 'a\0b'],
    ['a letter whose last byte is a line feed', 'a\u010ab'],
    ['a letter beyond ASCII', 'caf\xe9'],
  ])('with %s in a header is never built', (_what, value) => {
    expect(() => answerOf(302, { Location: value }, '')).toThrow('not one line of ASCII');
  });

  test('has as many lines as it has headers, whatever is in them', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), value => {
        try {
          return answerOf(302, { Location: value }, '').head.split(/[\r\n]+/).length === 4;
        } catch {
          return true;
        }
      }),
    );
  });
});

describe('the head of a platform response', () => {
  test('leaves out what the connection decides', () => {
    const response = new Response('abc', {
      status: 201,
      headers: {
        'Content-Type': 'text/plain',
        'Content-Length': '99',
        'Transfer-Encoding': 'chunked',
        Connection: 'close',
      },
    });
    expect(headOf(response)).toBe('HTTP/1.1 201 Created\r\ncontent-type: text/plain\r\n');
  });

  test('has one line for each cookie', () => {
    const headers = new Headers([
      ['Set-Cookie', 'a=1, 2'],
      ['Set-Cookie', 'b=2'],
    ]);
    expect(headOf(new Response(null, { headers }))).toBe(
      'HTTP/1.1 200 OK\r\nset-cookie: a=1, 2\r\nset-cookie: b=2\r\n',
    );
  });

  test('cannot be given a second line through a value', () => {
    for (const value of ['a\r\nb', 'a\nb', 'a\rb', 'a\0b']) {
      expect(() => new Response(null, { headers: { Location: value } })).toThrow();
    }
  });
});

test('only a response made for it is sent as a stream', () => {
  const body = () => new Response('abc').body as ReadableStream<Uint8Array>;
  expect(isStreamed(streamed(body(), {}))).toBe(true);
  expect(isStreamed(new Response(body()))).toBe(false);
});
