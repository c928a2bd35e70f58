import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type ListeningSockets, openListeningSockets } from './listening-socket.ts';
import { PlaceSockets, socketsBeside } from './place-sockets.ts';

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

/** What a visitor is answered; undefined while nobody is there. */
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

test('a socket is served from when it is attended until it no longer is, again and again', async () => {
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

test('sockets that were let go of are attended no more, and belong to nobody', async () => {
  places.close();
  places.attend([1]);
  await expect(visit()).rejects.toThrow();
});
