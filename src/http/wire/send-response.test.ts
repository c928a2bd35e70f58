import { describe, expect, test } from 'bun:test';
import { letOthersRun } from '../../base/clock.ts';
import { streamed } from './answer.ts';
import { connect, get, tails } from './fake-connection.ts';

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A response that comes in these pieces, and whether its stream was told to stop. */
function inPieces(...pieces: readonly string[]) {
  const left = [...pieces];
  const state = { isCancelled: false, pulled: 0 };
  const stream = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        state.pulled += 1;
        const piece = left.shift();
        if (piece === undefined) controller.close();
        else controller.enqueue(bytesOf(piece));
      },
      cancel() {
        state.isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  return { response: streamed(stream, { 'X-A': 'b' }), state };
}

async function someTurns(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await letOthersRun();
}

const head = (method: string) => `${method} / HTTP/1.1\r\nHost: h\r\n\r\n`;

describe('a response', () => {
  test('is sent whole, with its length in bytes', async () => {
    const { socket, receive } = connect(async () => new Response(bytesOf('“é”'), { status: 201 }));
    receive(get('/'));
    await someTurns();
    expect(socket.text).toBe(`HTTP/1.1 201 Created\r\nContent-Length: 8\r\n${tails.keep}“é”`);
  });

  test('to HEAD is its head, with the length that GET would give', async () => {
    const { socket, receive } = connect(async () => new Response(bytesOf('hello')));
    receive(head('HEAD'));
    await someTurns();
    expect(socket.text).toBe(`HTTP/1.1 200 OK\r\nContent-Length: 5\r\n${tails.keep}`);
  });

  test.each([
    [204, 'No Content'],
    [304, 'Not Modified'],
  ])('of status %p has neither body nor length', async (status, reason) => {
    const { socket, receive } = connect(async () => new Response(null, { status }));
    receive(get('/'));
    await someTurns();
    expect(socket.text).toBe(`HTTP/1.1 ${status} ${reason}\r\n${tails.keep}`);
  });
});

describe('a stream', () => {
  test('is sent in chunks, and the connection goes on after it', async () => {
    const { socket, receive } = connect(async () => inPieces('hello', '', 'x'.repeat(17)).response);
    receive(get('/') + get('/'));
    await someTurns();
    const once = `HTTP/1.1 200 OK\r\nx-a: b\r\nTransfer-Encoding: chunked\r\n${tails.keep}5\r\nhello\r\n11\r\n${'x'.repeat(17)}\r\n0\r\n\r\n`;
    expect(socket.text).toBe(once + once);
  });

  test('to HTTP/1.0 ends with the connection', async () => {
    const { socket, receive } = connect(async () => inPieces('hello', 'you').response);
    receive('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    await someTurns();
    expect(socket.text).toBe(`HTTP/1.1 200 OK\r\nx-a: b\r\n${tails.close}helloyou`);
    expect(socket.told).toEqual(['shutdown']);
  });

  test('is not begun for HEAD', async () => {
    const { response, state } = inPieces('hello');
    const { socket, receive } = connect(async () => response);
    receive(head('HEAD'));
    await someTurns();
    expect(socket.text).toBe(`HTTP/1.1 200 OK\r\nx-a: b\r\n${tails.keep}`);
    expect(state).toEqual({ isCancelled: true, pulled: 0 });
  });

  test('is not ahead of its reader', async () => {
    const { response, state } = inPieces(...Array<string>(100).fill('x'.repeat(100)));
    const { socket, receive, connection } = connect(async () => response);
    socket.room = 250;
    receive(get('/'));
    await someTurns();
    expect(state.pulled).toBeLessThan(4);
    socket.room = Number.POSITIVE_INFINITY;
    connection.drained();
    await someTurns();
    expect(socket.text).toEndWith('0\r\n\r\n');
  });

  test('stops when its reader is gone, also before it has begun', async () => {
    for (const isBegun of [true, false]) {
      const { response, state } = inPieces('hello', 'x'.repeat(1_000), 'more');
      const begin = Promise.withResolvers<void>();
      const { socket, receive, connection } = connect(() => begin.promise.then(() => response));
      socket.room = 500;
      receive(get('/'));
      if (isBegun) {
        begin.resolve();
        await someTurns();
      }
      connection.gone();
      const { text } = socket;
      begin.resolve();
      await someTurns();
      expect(state.isCancelled).toBe(true);
      expect(socket.text).toBe(text);
    }
  });

  test('that fails is cut off, so that nobody takes it for complete', async () => {
    const stream = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(bytesOf('hello')),
      pull: () => Promise.reject(new Error('broken')),
    });
    const { socket, receive, faults } = connect(async () => streamed(stream, {}));
    receive(get('/'));
    await someTurns();
    expect(socket.text).not.toContain('0\r\n\r\n');
    expect(socket.told).toEqual(['terminate']);
    expect(faults).toHaveLength(1);
  });
});
