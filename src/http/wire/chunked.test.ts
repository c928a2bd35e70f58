import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Problem } from '../../base/errors.ts';
import { ChunkedDecoder } from './chunked.ts';

interface Decoded {
  readonly data: string;
  readonly usedBytes: number;
  readonly isDone: boolean;
}

/** Gives the pieces of `text` to one decoder; undefined when it refuses them. */
function decode(text: string, cuts: readonly number[] = []): Decoded | undefined {
  const decoder = new ChunkedDecoder();
  const edges = [...new Set([0, ...cuts.map(cut => cut % (text.length + 1)), text.length])].sort(
    (a, b) => a - b,
  );
  let data = '';
  let usedBytes = 0;
  try {
    for (const [index, from] of edges.slice(0, -1).entries()) {
      const piece = Buffer.from(text.slice(from, edges[index + 1]), 'latin1');
      const step = decoder.decode(piece);
      data += piece.toString('latin1', 0, step.dataBytes);
      usedBytes += step.usedBytes;
    }
  } catch (error) {
    if (error instanceof Problem && error.status === 400) return undefined;
    throw error;
  }
  return { data, usedBytes, isDone: decoder.isDone };
}

/** What the standard says of a whole body, in its own words. */
function decodeByGrammar(text: string): Decoded | undefined {
  const line = /([\dA-Fa-f]{1,8})(?:;[\t\x20-\xff]{0,256})?\r\n/y;
  const end = /(?:[\w!#$%&'*+.^`|~-]+:[\t\x20-\x7e\x80-\xff]*\r\n)*\r\n/y;
  let data = '';
  let at = 0;
  for (;;) {
    line.lastIndex = at;
    const size = line.exec(text)?.[1];
    if (size === undefined) return undefined;
    at = line.lastIndex;
    const bytes = Number.parseInt(size, 16);
    if (bytes === 0) break;
    if (text.slice(at + bytes, at + bytes + 2) !== '\r\n') return undefined;
    data += text.slice(at, at + bytes);
    at += bytes + 2;
  }
  end.lastIndex = at;
  if (!end.test(text)) return undefined;
  return { data, usedBytes: end.lastIndex, isDone: true };
}

const chunk = fc
  .record({
    data: fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 40 }),
    zeros: fc.constantFrom('', '0', '000'),
    extension: fc.constantFrom('', ';', ';a=b', ';a="c d"', `;${'x'.repeat(200)}`),
  })
  .map(({ data, zeros, extension }) => `${zeros}${data.length.toString(16)}${extension}\r\n${data}\r\n`);
const body = fc
  .record({
    chunks: fc.array(chunk, { maxLength: 6 }),
    trailers: fc.constantFrom('', 'X-Sum: 1\r\n', 'a: \r\nb:c\r\n'),
  })
  .map(({ chunks, trailers }) => `${chunks.join('')}0\r\n${trailers}\r\n`);
const cuts = fc.array(fc.nat(), { maxLength: 8 });

describe('a body in chunks', () => {
  test('is put together again, wherever it was cut, and what follows is left alone', () => {
    fc.assert(
      fc.property(body, cuts, fc.constantFrom('', 'G', 'GET / HTTP/1.1\r\n'), (text, places, next) => {
        const expected = decodeByGrammar(text);
        expect(expected).toMatchObject({ isDone: true, usedBytes: text.length });
        expect(decode(text + next, places)).toEqual(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  test('is understood as the standard has it, or refused, whatever is done to it', () => {
    const mutation = fc.record({
      at: fc.nat(),
      remove: fc.nat({ max: 3 }),
      insert: fc.constantFrom(
        '',
        '\r',
        '\n',
        '\r\n',
        '0',
        'f',
        ';',
        ' ',
        '\t',
        '-',
        '+',
        '0x',
        '\0',
        ':',
        'a: b\r\n',
      ),
    });
    fc.assert(
      fc.property(
        body,
        fc.array(mutation, { minLength: 1, maxLength: 3 }),
        cuts,
        (text, mutations, places) => {
          let broken = text;
          for (const { at, remove, insert } of mutations) {
            const from = at % (broken.length + 1);
            broken = broken.slice(0, from) + insert + broken.slice(from + remove);
          }
          const decoded = decode(broken, places);
          expect(decoded?.isDone ? decoded : undefined).toEqual(decodeByGrammar(broken));
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test('is not done before its last byte', () => {
    const text = '5;a=b\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n';
    for (let length = 0; length < text.length; length += 1) {
      expect(decode(text.slice(0, length))).toMatchObject({ isDone: false });
    }
    expect(decode(text)).toEqual({ data: 'hello', usedBytes: text.length, isDone: true });
  });

  test.each([
    ['an empty size', '\r\n'],
    ['a sign', '+5\r\nhello\r\n'],
    ['a prefix', '0x5\r\nhello\r\n'],
    ['a blank before the size', ' 5\r\nhello\r\n'],
    ['a blank after the size', '5 \r\nhello\r\n'],
    ['nine digits', '000000005\r\nhello\r\n'],
    ['a bare line feed after the size', '5\nhello\r\n'],
    ['a bare line feed in an extension', '5;a\nhello\r\n'],
    ['a bare carriage return in an extension', '5;a\rb\r\nhello\r\n'],
    ['NUL in an extension', '5;\0\r\nhello\r\n'],
    ['an extension of 257 bytes', `5;${'x'.repeat(257)}\r\nhello\r\n`],
    ['more data than announced', '5\r\nhello!\r\n'],
    ['a bare line feed after the data', '5\r\nhello\n'],
    ['no line end after the data', '5\r\nhello0\r\n\r\n'],
    ['a request among the trailers', '0\r\nGET / HTTP/1.1\r\n\r\n'],
    ['a fold among the trailers', '0\r\na: b\r\n c\r\n\r\n'],
    ['a bare line feed among the trailers', '0\r\na: b\n\r\n\r\n'],
    ['a bare carriage return among the trailers', '0\r\na: \rb\r\n\r\n'],
    ['trailers beyond 4 KB', `0\r\n${'a'.repeat(4_096)}`],
  ])('with %s is refused', (_what, text) => {
    expect(decode(text)).toBeUndefined();
  });

  test('that was refused stays so, however it goes on', () => {
    const decoder = new ChunkedDecoder();
    expect(() => decoder.decode(Buffer.from('x'))).toThrow(Problem);
    expect(() => decoder.decode(Buffer.from('0\r\n\r\n'))).toThrow(Problem);
    expect(decoder.isDone).toBe(false);
  });
});
