import { afterEach, beforeEach, expect, test } from 'bun:test';
import fc from 'fast-check';
import { type ListeningSockets, openListeningSockets } from './listening-socket.ts';
import { PlaceSockets, socketsBeside, wholeLines } from './serve-as-worker.ts';

test('text goes in whole lines, as many at a time as fit', () => {
  expect(wholeLines('aa\nbb\ncc\n', 6)).toEqual(['aa\nbb\n', 'cc\n']);
  expect(wholeLines('aa\nbb\ncc\n', 5)).toEqual(['aa\n', 'bb\n', 'cc\n']);
  expect(wholeLines('a line that is too long\nb\n', 6)).toEqual(['a line that is too long\n', 'b\n']);
  expect(wholeLines('ä\nä\n', 5)).toEqual(['ä\n', 'ä\n']);
  expect(wholeLines('')).toEqual([]);
});

test('nothing is lost or added, and no part is too long that could be shorter', () => {
  const text = fc.array(fc.string({ maxLength: 20 }).map(line => `${line.replaceAll('\n', ' ')}\n`));
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 60 }), (lines, bytesMax) => {
      const parts = wholeLines(lines.join(''), bytesMax);
      expect(parts.join('')).toBe(lines.join(''));
      for (const part of parts) {
        expect(part.endsWith('\n')).toBe(true);
        const isOneLine = part.indexOf('\n') === part.length - 1;
        expect(isOneLine || Buffer.byteLength(part) <= bytesMax).toBe(true);
      }
    }),
  );
});

const hostname = '127.0.0.1';
let sockets: ListeningSockets;
let places: PlaceSockets;
let served: number;

beforeEach(() => {
  sockets = openListeningSockets(hostname, 0, 1);
  served = 0;
  places = new PlaceSockets(new Map([[1, sockets.fds[0]!]]), fd => {
    const listener = Bun.listen({
      ...({ fd } as unknown as { hostname: string; port: number }),
      socket: { open: socket => void socket.end(String(++served)), data() {} },
    });
    return () => listener.stop();
  });
});

afterEach(() => {
  places.attend([]);
  places.close();
});

/** The response to a visitor; undefined while no worker serves. */
async function visit(): Promise<{
  readonly answer: Promise<string>;
  readonly answered: () => string | undefined;
}> {
  let text: string | undefined;
  const { promise: answer, resolve } = Promise.withResolvers<string>();
  await Bun.connect({
    hostname,
    port: sockets.port,
    socket: {
      data(_socket, chunk) {
        text = chunk.toString();
        resolve(text);
      },
    },
  });
  return { answer, answered: () => text };
}

test('a worker has the sockets of all places but its own', () => {
  expect([...socketsBeside({ index: 1, count: 3, port: 80 })]).toEqual([
    [0, 3],
    [2, 5],
  ]);
});

test('a socket is served exactly while it is attended, any number of times', async () => {
  const early = await visit();
  places.attend([1, 7]);
  expect(await early.answer).toBe('1');
  places.attend([1]);
  expect(await (await visit()).answer).toBe('2');
  places.attend([]);
  const waiting = await visit();
  await Bun.sleep(50);
  expect(waiting.answered()).toBeUndefined();
  places.attend([1]);
  expect(await waiting.answer).toBe('3');
});

test('released sockets are no longer attended, and no process holds them', async () => {
  places.close();
  places.attend([1]);
  await expect(visit()).rejects.toThrow();
});
