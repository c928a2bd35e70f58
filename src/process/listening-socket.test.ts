import { afterEach, describe, expect, test } from 'bun:test';
import { closeSync, fstatSync } from 'node:fs';
import type { Socket } from 'bun';
import { duplicateFd } from '../http/wire/listen-socket.ts';
import { type ListeningSockets, openListeningSockets } from './listening-socket.ts';

const hostname = '127.0.0.1';
const opened: { stop(): void }[] = [];

afterEach(() => {
  for (const each of opened.splice(0)) each.stop();
});

function open(count: number, port = 0): ListeningSockets {
  const sockets = openListeningSockets(hostname, port, count);
  opened.push({ stop: () => sockets.close() });
  return sockets;
}

/** Answers every connection with a name, as a worker would serve its socket. */
function serve(fd: number, name: string): { stop(closeActive?: boolean): void } {
  const listener = Bun.listen({
    ...({ fd: duplicateFd(fd) } as unknown as { hostname: string; port: number }),
    socket: { open: socket => void socket.end(name), data() {} },
  });
  opened.push(listener);
  return listener;
}

/** Connects and returns the response, however late. */
async function connect(port: number): Promise<{ said: Promise<string> }> {
  const { promise: said, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  said.catch(() => undefined);
  await Bun.connect({
    hostname,
    port,
    socket: {
      data(_socket: Socket, chunk) {
        text += chunk.toString();
      },
      close: (_socket, error) => (error === undefined ? resolve(text) : reject(error)),
      error: (_socket, error) => reject(error),
    },
  });
  return { said };
}

describe('listening sockets', () => {
  test('share one port, which is a free one when none is named', () => {
    const { port, fds } = open(3);
    expect(port).toBeGreaterThan(0);
    expect(new Set(fds.map(fd => fstatSync(fd).ino)).size).toBe(3);
  });

  test('let connections wait for the next worker that serves them', async () => {
    const { port, fds } = open(1);
    const before = serve(fds[0]!, 'first');
    expect(await (await connect(port)).said).toBe('first');
    before.stop(true);
    const waiting = await Promise.all(Array.from({ length: 20 }, () => connect(port)));
    serve(fds[0]!, 'second');
    expect(await Promise.all(waiting.map(({ said }) => said))).toEqual(waiting.map(() => 'second'));
  });

  test('each get their share of the connections', async () => {
    const { port, fds } = open(2);
    serve(fds[0]!, 'a');
    serve(fds[1]!, 'b');
    const said = await Promise.all(Array.from({ length: 100 }, async () => (await connect(port)).said));
    // Chance alone would give one of them fewer once in a million million times.
    expect(said.filter(name => name === 'a').length).toBeGreaterThan(15);
    expect(said.filter(name => name === 'b').length).toBeGreaterThan(15);
  });

  test('are not opened while another program has the port, nor by a second supervisor', () => {
    const stranger = Bun.listen({ hostname, port: 0, socket: { data() {} } });
    opened.push(stranger);
    expect(() => open(2, stranger.port)).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
    const { port } = open(2);
    expect(() => open(2, port)).toThrow(expect.objectContaining({ code: 'EADDRINUSE' }));
  });

  test('give the port back when they are closed', () => {
    const { port, close } = open(2);
    close();
    expect(open(2, port).port).toBe(port);
  });
});

test('a descriptor that is not there cannot be kept', () => {
  const { fds } = openListeningSockets(hostname, 0, 1);
  closeSync(fds[0]!);
  expect(() => duplicateFd(fds[0]!)).toThrow('cannot be kept');
});
