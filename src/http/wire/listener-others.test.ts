/** A listener that serves the sockets of other processes beside its own. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { RawConnection } from '../../../test/kit/raw-http.ts';
import { type ListeningSockets, openListeningSockets } from '../../process/listening-socket.ts';
import { type FakeWire, startFakeWire } from './fake-wire.ts';

let wire: FakeWire;
let sockets: ListeningSockets;
let url: string;

beforeEach(() => {
  wire = startFakeWire({});
  sockets = openListeningSockets('127.0.0.1', 0, 1);
  url = `http://127.0.0.1:${sockets.port}`;
});

afterEach(() => wire.stop());

async function ask(client: RawConnection, count: number): Promise<number[]> {
  client.write('GET /a HTTP/1.1\r\nHost: h\r\n\r\n');
  return (await client.answers(count)).map(({ status }) => status);
}

test('a client of another socket is served like any other, also after that socket was closed', async () => {
  const stop = wire.listener.serveAlso(sockets.fds[0]!);
  const client = await RawConnection.open(url);
  expect(await ask(client, 1)).toEqual([200]);
  expect(wire.listener.connections).toBe(1);
  stop();
  expect(await ask(client, 2)).toEqual([200, 200]);
  await expect(RawConnection.open(url)).rejects.toThrow();
  client.abandon();
});

test('a listener that ends closes every socket, once', async () => {
  const stop = wire.listener.serveAlso(sockets.fds[0]!);
  await wire.listener.drain();
  await expect(RawConnection.open(url)).rejects.toThrow();
  const next = openListeningSockets('127.0.0.1', 0, 1);
  // By now the descriptor may belong to another socket.
  stop();
  expect(await RawConnection.open(`http://127.0.0.1:${next.port}`)).toBeInstanceOf(RawConnection);
  next.close();
});
