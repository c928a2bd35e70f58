import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { yieldToEventLoop } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { ChunkedDecoder, IncomingBody } from './incoming-body.ts';

const limitBytes = 64 * 1024;

/** A body, and the calls that its socket got. */
function bodyOf(bytes: number | undefined) {
  const calls: string[] = [];
  const waits: boolean[] = [];
  const body = new IncomingBody(bytes, {
    onWanted: () => calls.push('wanted'),
    pause: () => calls.push('pause'),
    resume: () => calls.push('resume'),
    onWaiting: isWaiting => waits.push(isWaiting),
  });
  return { body, calls, waits };
}

const text = (content: string): Buffer => Buffer.from(content);

describe('a body of known length', () => {
  test('takes what belongs to it, and nothing of what follows', async () => {
    const { body } = bodyOf(10);
    expect(body.take(text('hello'))).toBe(5);
    expect(body.leftBytes).toBe(5);
    expect(body.take(text(' you!GET /'))).toBe(5);
    expect(body.isDone).toBe(true);
    expect(body.leftBytes).toBe(0);
    expect(await new Response(body.stream).text()).toBe('hello you!');
  });
});

describe('a body in chunks', () => {
  test('has no known length, and passes on its data only', async () => {
    const { body } = bodyOf(undefined);
    expect(body.take(text('3\r\nabc\r\n2\r'))).toBe(10);
    expect(body.leftBytes).toBe(Number.POSITIVE_INFINITY);
    expect(body.take(text('\nde\r\n0\r\n\r\nGET'))).toBe(10);
    expect(body.leftBytes).toBe(0);
    expect(body.receivedBytes).toBe(20);
    expect(await new Response(body.stream).text()).toBe('abcde');
  });

  test('makes no more pieces than the network did', async () => {
    const { body } = bodyOf(undefined);
    body.take(text(`${'1\r\na\r\n'.repeat(1_000)}0\r\n\r\n`));
    expect((await body.stream.getReader().read()).value?.length).toBe(1_000);
  });

  test('does not keep the buffer around a little data', async () => {
    const { body } = bodyOf(undefined);
    body.take(text(`1;${'x'.repeat(200)}\r\na\r\n`));
    expect((await body.stream.getReader().read()).value?.buffer.byteLength).toBe(1);
  });

  test('is still waited for while only its framing arrives', async () => {
    const { body, waits } = bodyOf(undefined);
    const content = new Response(body.stream).text();
    await yieldToEventLoop();
    for (const byte of '1;ext\r\n') body.take(text(byte));
    expect(waits).toEqual([true]);
    body.take(text('a'));
    await yieldToEventLoop();
    expect(waits).toEqual([true, false, true]);
    for (const byte of '\r\n0\r\nx: y\r\n\r') body.take(text(byte));
    expect(waits).toEqual([true, false, true]);
    body.take(text('\n'));
    expect({ waits, content: await content }).toEqual({ waits: [true, false, true, false], content: 'a' });
  });

  test('says what is wrong with it', () => {
    const { body } = bodyOf(undefined);
    expect(() => body.take(text('zz\r\n'))).toThrow(Problem);
  });
});

describe('a handler sets the pace', () => {
  test('nothing is asked for before it reads, and once it does the client is asked once', async () => {
    const { body, calls } = bodyOf(10);
    await yieldToEventLoop();
    expect(calls).toEqual([]);
    const reader = body.stream.getReader();
    const first = reader.read();
    await yieldToEventLoop();
    expect(calls).toEqual(['wanted', 'resume']);
    body.take(text('hello'));
    await first;
    const second = reader.read();
    await yieldToEventLoop();
    expect(calls).toEqual(['wanted', 'resume', 'resume']);
    body.take(text('hello'));
    await second;
  });

  test('the socket pauses while more than 64 KB are unread, and resumes when they are read', async () => {
    const { body, calls } = bodyOf(1_000_000);
    body.take(Buffer.alloc(limitBytes));
    expect(calls).toEqual([]);
    body.take(Buffer.alloc(1));
    expect(calls).toEqual(['pause']);
    expect(body.unreadBytes).toBe(limitBytes + 1);
    const reader = body.stream.getReader();
    await reader.read();
    await reader.read();
    expect(body.unreadBytes).toBe(0);
    const third = reader.read();
    await yieldToEventLoop();
    expect(calls).toEqual(['pause', 'wanted', 'resume']);
    body.take(Buffer.alloc(1));
    await third;
  });

  test('the platform’s Request does not read ahead of it', async () => {
    const { body, calls } = bodyOf(1_000_000);
    new Request('http://localhost/', { method: 'POST', body: body.stream, duplex: 'half' } as RequestInit);
    body.take(Buffer.alloc(limitBytes + 1));
    await yieldToEventLoop();
    expect(calls).toEqual(['pause']);
  });

  test.each(['discard', 'cancel'] as const)(
    'after %s the rest is dropped and the socket continues',
    async how => {
      const { body, calls } = bodyOf(100_000);
      body.take(Buffer.alloc(70_000));
      if (how === 'cancel') await body.stream.cancel();
      else body.discard();
      expect(calls).toEqual(['pause', 'resume']);
      expect(body.take(Buffer.alloc(40_000))).toBe(30_000);
      expect(body.isDone).toBe(true);
      expect(body.unreadBytes).toBe(0);
    },
  );
});

describe('a body that does not come to its end', () => {
  test('reports the reason to its reader, even one that has not begun', async () => {
    const { body } = bodyOf(10);
    body.take(text('hello'));
    body.fail(new Error('the client disconnected'));
    body.fail(new Error('and again'));
    expect(new Response(body.stream).text()).rejects.toThrow('the client disconnected');
    expect(body.take(text('more'))).toBe(4);
  });

  test('does no harm when it is complete, or has no reader', async () => {
    const complete = bodyOf(5).body;
    complete.take(text('hello'));
    complete.fail(new Error('late'));
    expect(await new Response(complete.stream).text()).toBe('hello');
    const unwanted = bodyOf(5).body;
    unwanted.discard();
    unwanted.fail(new Error('late'));
  });
});

interface Decoded {
  readonly data: string;
  readonly usedBytes: number;
  readonly isDone: boolean;
}

/** Gives the pieces of `text` to one decoder; undefined when it rejects them. */
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

/** A whole body by the grammar of the standard. */
function decodeByGrammar(text: string): Decoded | undefined {
  const extension =
    /[\t ]*[\w!#$%&'*+.^`|~-]+(?:[\t ]*=[\t ]*(?:[\w!#$%&'*+.^`|~-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"))?/
      .source;
  const line = new RegExp(`([\\dA-Fa-f]{1,8})(?:;${extension}(?:[\\t ]*;${extension})*)?\\r\\n`, 'y');
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
    extension: fc.constantFrom('', ';a', ';a=b; c', ';a="c \\" d" ;\te = f', `;${'x'.repeat(200)}`),
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

  test('is understood as the standard has it, or rejected, whatever is done to it', () => {
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
    ['NUL in an extension', '5;a="\0"\r\nhello\r\n'],
    ['no extension after a semicolon', '5;\r\nhello\r\n'],
    ['a quote that is not closed', '5;a="b\r\nhello\r\n'],
    ['text after a quote', '5;a="b"c\r\nhello\r\n'],
    ['an extension of 257 bytes', `5;${'x'.repeat(257)}\r\nhello\r\n`],
    ['more data than announced', '5\r\nhello!\r\n'],
    ['a bare line feed after the data', '5\r\nhello\n'],
    ['no line end after the data', '5\r\nhello0\r\n\r\n'],
    ['a request among the trailers', '0\r\nGET / HTTP/1.1\r\n\r\n'],
    ['a fold among the trailers', '0\r\na: b\r\n c\r\n\r\n'],
    ['a bare line feed among the trailers', '0\r\na: b\n\r\n\r\n'],
    ['a bare carriage return among the trailers', '0\r\na: \rb\r\n\r\n'],
    ['trailers beyond 4 KB', `0\r\n${'a'.repeat(4_096)}`],
  ])('with %s is rejected', (_what, text) => {
    expect(decode(text)).toBeUndefined();
  });

  test('that was rejected stays rejected, whatever follows', () => {
    const decoder = new ChunkedDecoder();
    expect(() => decoder.decode(Buffer.from('x'))).toThrow(Problem);
    expect(() => decoder.decode(Buffer.from('0\r\n\r\n'))).toThrow(Problem);
    expect(decoder.isDone).toBe(false);
  });
});
