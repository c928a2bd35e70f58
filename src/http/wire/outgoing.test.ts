import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Outgoing } from './outgoing.ts';

/** A socket that takes so many bytes and no more, until there is room again. */
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

describe('what a socket does not take', () => {
  test('is sent when there is room, in order and once, whatever the pieces are', () => {
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

  test('is all that is kept', () => {
    const { socket, out } = outgoingTo(999_990);
    out.write(Buffer.alloc(1_000_000, 'a'));
    expect(out.unsentBytes).toBe(10);
    socket.room = 4;
    out.flush();
    expect(out.unsentBytes).toBe(6);
  });
});

describe('whoever produces more', () => {
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
    await Bun.sleep(0);
    expect(hasRoom).toBe(false);
    socket.room = 1;
    out.flush();
    await waited;
  });

  test('is not kept waiting by a client that is gone, and is told', async () => {
    const { socket, out } = outgoingTo(1);
    let toldTimes = 0;
    out.onGone = () => {
      toldTimes += 1;
    };
    out.write('abc');
    const waited = out.room();
    out.abandon();
    await waited;
    expect({ toldTimes, isGone: out.isGone, isBehind: out.isBehind }).toEqual({
      toldTimes: 1,
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
