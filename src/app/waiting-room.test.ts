import { afterEach, expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { systemClock } from '../base/clock.ts';
import { createLog } from '../ops/log.ts';
import { WaitingRoom } from './waiting-room.ts';

let logged = '';
const log = createLog({ level: 'info', clock: systemClock, write: text => (logged += text) });
let room: WaitingRoom;
afterEach(() => room.close());

const openRoom = (port: number): WaitingRoom => {
  room = new WaitingRoom({
    doors: () => [{ hostname: '127.0.0.1', port }],
    identity: undefined,
    clock: systemClock,
    log,
  });
  room.open();
  return room;
};
const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${room.port}${path}`, { headers, redirect: 'manual' });

test('it says that the process lives, that it is not ready, and what is missing', async () => {
  openRoom(0);
  expect((await ask('/health/live')).status).toBe(200);
  const ready = await ask('/health/ready');
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'unavailable', parts: { links: 'unavailable' } },
  ]);
});

test('nobody is told that a link or a route does not exist', async () => {
  openRoom(0);
  for (const path of ['/abc1234', '/api/v1/links', '/dashboard', '/', '/metrics', '/a/b/c']) {
    const answer = await ask(path);
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '5']);
    expect((await answer.json()) as object).toMatchObject({ code: 'store_unavailable' });
  }
  const page = await ask('/abc1234', { accept: 'text/html' });
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
});

test('the port is free when it is closed, whoever is still connected', async () => {
  const { port } = openRoom(0);
  await ask('/health/live');
  const slow = connect(port!, '127.0.0.1');
  const isCutOff = new Promise<boolean>(resolve => slow.once('close', () => resolve(true)));
  slow.on('error', () => undefined);
  slow.resume();
  slow.write('GET /health/live HTTP/1.1\r\n');
  await Bun.sleep(50);
  await room.close();
  // Long before the server itself would lose its patience.
  expect(await Promise.race([isCutOff, Bun.sleep(5_000).then(() => false)])).toBe(true);
  const successor = createServer();
  await new Promise<void>((resolve, reject) => {
    successor.once('error', reject);
    successor.listen(port, '127.0.0.1', resolve);
  });
  successor.close();
});

test('a port that somebody else has keeps nobody from waiting', async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  openRoom(port);
  expect(room.port).toBeUndefined();
  log.flush();
  expect(logged).toContain('nobody can be told what the server waits for');
  other.close();
});
