import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../../base/errors.ts';
import { compact, type Fields, parseFields } from './fields.ts';

/** The lines as they stand in a head, between the ends of the request line and of the last header. */
function fieldsOf(...lines: readonly string[]): Fields {
  const text = lines.map(line => `\r\n${line}`).join('');
  return parseFields(`${text}\r\n\r\n`, 0, text.length);
}

/** Undefined when the lines are accepted. */
function refusalOf(...lines: readonly string[]): number | undefined {
  try {
    fieldsOf(...lines);
    return undefined;
  } catch (error) {
    if (error instanceof Problem) return error.status;
    throw error;
  }
}

describe('header lines', () => {
  test('are found by their name in lower case, without the blanks around their value', () => {
    const fields = fieldsOf('User-AGENT: \t curl/8.0 \t', 'Accept:*/*', 'X-Empty:');
    expect(fields.get('user-agent')).toBe('curl/8.0');
    expect(fields.get('accept')).toBe('*/*');
    expect(fields.get('x-empty')).toBe('');
    expect(fields.get('missing')).toBeNull();
  });

  test('that come several times are joined by commas', () => {
    expect(fieldsOf('X-Forwarded-For: a', 'Host: h', 'x-forwarded-for: b').get('x-forwarded-for')).toBe(
      'a, b',
    );
  });

  test('may hold any byte but controls, and only blanks are taken from around them', () => {
    expect(fieldsOf('X-A: \xa0caf\xe9\ttab\xa0').get('x-a')).toBe('\xa0caf\xe9\ttab\xa0');
  });

  test.each([
    ['no colon', 'X-A'],
    ['an empty name', ': b'],
    ['a blank before the colon', 'X-A : b'],
    ['a fold', ' folded'],
    ['a fold with a colon', '\tX-A: b'],
    ['a control in the name', 'X\0A: b'],
    ['a letter beyond ASCII in the name', 'X-\xe9: b'],
    ['NUL', 'X-A: b\0'],
    ['a bare carriage return', 'X-A: b\rX-B: c'],
    ['a bare line feed', 'X-A: b\nX-B: c'],
    ['a carriage return at the end', 'X-A: b\r'],
    ['DEL', 'X-A: \x7f'],
  ])('with %s are rejected', (_what, line) => {
    expect(refusalOf('Host: h', line)).toBe(400);
  });

  test('are a hundred at most', () => {
    const lines = Array.from({ length: 101 }, (_, index) => `X-${index}: a`);
    expect(refusalOf(...lines.slice(1))).toBeUndefined();
    expect(refusalOf(...lines)).toBe(431);
  });
});

describe('the length of a body', () => {
  test.each<[lines: string[], bodyBytes: number | undefined]>([
    [[], 0],
    [['Content-Length: 0'], 0],
    [['Content-Length: 42'], 42],
    [['Content-Length: 007'], 7],
    [['Transfer-Encoding: chunked'], undefined],
    [['transfer-encoding: CHUNKED'], undefined],
  ])('after %j is understood', (lines, bodyBytes) => {
    expect(fieldsOf(...lines).bodyBytes).toBe(bodyBytes);
  });

  test.each([
    [['Content-Length: 1', 'Content-Length: 1']],
    [['Content-Length: 1', 'Content-Length: 2']],
    [['Content-Length: 1, 1']],
    [['Content-Length: +1']],
    [['Content-Length: -1']],
    [['Content-Length: 0x1']],
    [['Content-Length: 1 1']],
    [['Content-Length: 1.0']],
    [['Content-Length: ١']],
    [['Content-Length:']],
    [['Content-Length: 1234567890123456']],
    [['Content-Length: 1', 'Transfer-Encoding: chunked']],
    [['Transfer-Encoding: chunked', 'Content-Length: 1']],
    [['Transfer-Encoding: chunked', 'Transfer-Encoding: chunked']],
    [['Transfer-Encoding: gzip, chunked']],
    [['Transfer-Encoding: identity']],
    [['Transfer-Encoding: xchunked']],
    [['Transfer-Encoding: chunked;a=b']],
    [['Transfer-Encoding:']],
    [['Transfer-Encoding: \x0bchunked']],
  ])('after %j is in doubt and rejected', lines => {
    expect(refusalOf(...lines)).toBe(400);
  });
});

describe('the host', () => {
  test.each([
    'h',
    'example.com',
    'example.com:8080',
    '127.0.0.1:1',
    '[::1]',
    '[::1]:80',
    '',
    'a_b',
    'a%20b',
    'h:',
  ])('may be %j', host => {
    expect(fieldsOf(`Host: ${host}`).hasHost).toBe(true);
  });

  test.each(['a b', 'a?b', 'a/b', '[', '[::1', '%', '%zz', 'a@b', 'h:80x', 'h\\', 'caf\xe9', 'a#b', 'a,b c'])(
    'may not be %j',
    host => {
      expect(refusalOf(`Host: ${host}`)).toBe(400);
    },
  );

  test.each([[['Host: a', 'Host: a']], [['Host: a', 'Host:']], [['Host:', 'Host:']]])(
    'is named once: %j',
    lines => {
      expect(refusalOf(...lines)).toBe(400);
    },
  );

  test('may be missing', () => {
    expect(fieldsOf().hasHost).toBe(false);
  });
});

test.each<[string[], Fields['persistence']]>([
  [[], undefined],
  [['Connection: close'], 'close'],
  [['Connection: Keep-Alive'], 'keep-alive'],
  [['Connection: upgrade , CLOSE'], 'close'],
  [['Connection: keep-alive, close'], 'close'],
  [['Connection: keep-alive', 'Connection: close'], 'close'],
  [['Connection: upgrade'], undefined],
  [['Connection: closed'], undefined],
])('%j determines the persistence of the connection: %s', (lines, persistence) => {
  expect(fieldsOf(...lines).persistence).toBe(persistence);
});

test('whatever the lines are, they are rejected or mean the same to the platform', () => {
  const piece = fc.constantFrom(
    'a',
    'X-A',
    ':',
    ' ',
    '\t',
    '\r',
    '\n',
    '\r\n',
    '\0',
    '\x7f',
    '\xe9',
    'b',
    ',',
  );
  const line = fc.array(piece, { maxLength: 8 }).map(pieces => pieces.join(''));
  fc.assert(
    fc.property(fc.array(line, { maxLength: 5 }), lines => {
      const refusal = refusalOf(...lines);
      if (refusal !== undefined) return refusal === 400;
      const fields = fieldsOf(...lines);
      const headers = [...fields.toHeaders()];
      return headers.every(
        ([name, value]) =>
          fields.get(name) === value && /^[a-z-]+$/.test(name) && !/[\r\n\0\x7f]/.test(value),
      );
    }),
    { numRuns: 2_000 },
  );
});

test('a small part of a buffer no longer keeps all of it', () => {
  const part = Buffer.from('0123456789').subarray(2, 6);
  expect(compact(part).toString()).toBe('2345');
  expect(compact(part).buffer.byteLength).toBe(4);
});

test('a large part of a buffer is not copied', () => {
  const part = Buffer.from('0123456789').subarray(5);
  expect(compact(part)).toBe(part);
});
