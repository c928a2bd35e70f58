import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { yieldToEventLoop } from '../../base/clock.ts';
import { streamed } from './answer.ts';
import { connect, get, tails } from './fake-connection.ts';
import { Outgoing } from './outgoing.ts';

/** A socket that accepts this many bytes and no more, until there is room again. */
class NarrowSocket {
  room: number;
  taken = '';
  isClosed = false;

  constructor(room: number) {
    this.room = room;
  }

  write = (data: unknown): number => {
    if (this.isClosed) return -1;
    const bytes = Buffer.from(data as Uint8Array);
    const written = Math.min(this.room, bytes.length);
    this.room -= written;
    this.taken += bytes.toString('latin1', 0, written);
    return written;
  };
}

function outgoingTo(room: number) {
  const socket = new NarrowSocket(room);
  return { socket, out: new Outgoing(socket) };
}

describe('bytes that a socket does not accept', () => {
  test('are sent when there is room, in order and once, whatever the pieces are', () => {
    const step = fc.oneof(
      fc.record({
        write: fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 30 }),
        asText: fc.boolean(),
      }),
      fc.record({ room: fc.nat({ max: 20 }) }),
    );
    fc.assert(
      fc.property(fc.nat({ max: 20 }), fc.array(step, { maxLength: 20 }), (firstRoom, steps) => {
        const { socket, out } = outgoingTo(firstRoom);
        let all = '';
        for (const each of steps) {
          if ('write' in each) {
            all += each.write;
            out.write(each.asText ? each.write : Buffer.from(each.write));
          } else {
            socket.room += each.room;
            out.flush();
          }
          expect(socket.taken).toBe(all.slice(0, socket.taken.length));
          expect(out.unsentBytes).toBe(all.length - socket.taken.length);
          expect(out.isBehind).toBe(out.unsentBytes > 0);
        }
        socket.room = Number.POSITIVE_INFINITY;
        out.flush();
        expect(socket.taken).toBe(all);
      }),
    );
  });

  test('are all that is kept', () => {
    const { socket, out } = outgoingTo(999_990);
    out.write(Buffer.alloc(1_000_000, 'a'));
    expect(out.unsentBytes).toBe(10);
    socket.room = 4;
    out.flush();
    expect(out.unsentBytes).toBe(6);
  });
});

describe('a producer with more to send', () => {
  test('waits until there is room', async () => {
    const { socket, out } = outgoingTo(1);
    await out.room();
    out.write('abc');
    let hasRoom = false;
    const waited = out.room().then(() => {
      hasRoom = true;
    });
    socket.room = 1;
    out.flush();
    await yieldToEventLoop();
    expect(hasRoom).toBe(false);
    socket.room = 1;
    out.flush();
    await waited;
  });

  test('is not kept waiting by a client that has disconnected, and learns of it', async () => {
    const { socket, out } = outgoingTo(1);
    let callTimes = 0;
    out.onGone = () => {
      callTimes += 1;
    };
    out.write('abc');
    const waited = out.room();
    out.abandon();
    await waited;
    expect({ callTimes, isGone: out.isGone, isBehind: out.isBehind }).toEqual({
      callTimes: 1,
      isGone: true,
      isBehind: false,
    });
    socket.room = 10;
    out.write('more');
    expect(socket.taken).toBe('a');
  });

  test('does not wait for a socket that has closed', async () => {
    const { socket, out } = outgoingTo(1);
    out.write('abc');
    socket.isClosed = true;
    const waited = out.room();
    out.flush();
    await waited;
    out.write('more');
    expect(out.isBehind).toBe(false);
  });
});

describe('a client that does not read', () => {
  const askedTimes = (out: Outgoing, times: number): boolean[] =>
    Array.from({ length: times }, () => out.isStalled());

  test('counts as gone after ten ticks without a byte', () => {
    const { out } = outgoingTo(1);
    out.write('abc');
    expect(askedTimes(out, 11)).toEqual([...Array<boolean>(10).fill(false), true]);
  });

  test('is given as long again with each byte it takes', () => {
    const { socket, out } = outgoingTo(0);
    out.write('abc');
    expect(askedTimes(out, 10)).not.toContain(true);
    socket.room = 1;
    out.flush();
    expect(askedTimes(out, 10)).not.toContain(true);
    out.flush();
    expect(out.isStalled()).toBe(true);
  });

  test('is not one that has read everything', () => {
    const { out } = outgoingTo(3);
    out.write('abc');
    expect(askedTimes(out, 20)).not.toContain(true);
  });
});

const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);

/** A response in these pieces, and whether its stream was cancelled. */
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
  for (let turn = 0; turn < 20; turn += 1) await yieldToEventLoop();
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
    expect(socket.calls).toEqual(['shutdown']);
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

  test('stops when its reader has disconnected, also before it has begun', async () => {
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

  test('that fails is cut off, so that no client takes it for complete', async () => {
    const stream = new ReadableStream<Uint8Array>({
      start: controller => controller.enqueue(bytesOf('hello')),
      pull: () => Promise.reject(new Error('broken')),
    });
    const { socket, receive, faults } = connect(async () => streamed(stream, {}));
    receive(get('/'));
    await someTurns();
    expect(socket.text).not.toContain('0\r\n\r\n');
    expect(socket.calls).toEqual(['terminate']);
    expect(faults).toHaveLength(1);
  });
});
