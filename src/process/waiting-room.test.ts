import { afterEach, expect, test } from 'bun:test';
import { connect, createServer } from 'node:net';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../test/kit/engines/postgres.ts';
import { until } from '../../test/kit/until.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/config.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { formerSchema } from '../stores/fake-former-schema.ts';
import { openStores } from '../stores/stores.ts';
import { createLog } from '../telemetry/log.ts';
import { untilStoreAnswers, WaitingRoom } from './waiting-room.ts';

let logged = '';
const log = createLog({ level: 'info', clock: systemClock, write: text => (logged += text) });
let room: WaitingRoom;
afterEach(() => room.close());

const openRoom = (port: number): WaitingRoom => {
  room = new WaitingRoom({
    listenAddresses: () => [{ hostname: '127.0.0.1', port }],
    identity: undefined,
    clock: systemClock,
    log,
  });
  room.open();
  return room;
};
const ask = (path: string, headers: Record<string, string> = {}) =>
  fetch(`http://127.0.0.1:${room.port}${path}`, { headers, redirect: 'manual' });

test('it reports that the process is alive, that it is not ready, and what is missing', async () => {
  openRoom(0);
  expect((await ask('/health/live')).status).toBe(200);
  const ready = await ask('/health/ready');
  expect([ready.status, await ready.json()]).toEqual([
    503,
    { status: 'unavailable', parts: { links: 'unavailable' } },
  ]);
});

test('no client gets an answer that a link or a route does not exist', async () => {
  openRoom(0);
  for (const path of ['/abc1234', '/api/v1/links', '/dashboard', '/', '/metrics', '/a/b/c']) {
    const answer = await ask(path);
    expect([path, answer.status, answer.headers.get('retry-after')]).toEqual([path, 503, '5']);
    expect((await answer.json()) as object).toMatchObject({ code: 'store_unavailable' });
  }
  const page = await ask('/abc1234', { accept: 'text/html' });
  expect([page.status, page.headers.get('content-type')]).toEqual([503, 'text/html; charset=utf-8']);
});

test('the port is free when it is closed, even with clients still connected', async () => {
  const { port } = openRoom(0);
  await ask('/health/live');
  const slow = connect(port!, '127.0.0.1');
  const isCutOff = new Promise<boolean>(resolve => slow.once('close', () => resolve(true)));
  slow.on('error', () => undefined);
  slow.resume();
  slow.write('GET /health/live HTTP/1.1\r\n');
  await Bun.sleep(50);
  await room.close();
  // Long before the server's own timeout.
  expect(await isCutOff).toBe(true);
  const successor = createServer();
  await new Promise<void>((resolve, reject) => {
    successor.once('error', reject);
    successor.listen(port, '127.0.0.1', resolve);
  });
  successor.close();
});

test('a port that another process holds does not end the wait', async () => {
  const other = createServer();
  await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  openRoom(port);
  expect(room.port).toBeUndefined();
  log.flush();
  expect(logged).toContain('cannot listen to report what the server waits for');
  other.close();
});

describeWithEngine('postgres', 'the start of a server on Postgres', () => {
  test('is reported while the import of former tables takes long', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const config = loadConfig({ argv: ['--links', links], env: {}, readFile: () => '{}' });
    const postgres = openPostgres(links, { clock: systemClock });
    for (const statement of formerSchema('postgres')) await postgres.query(statement);
    await (await openStores(config, { clock: systemClock, random: systemRandom, log })).links.close();
    const [locked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const holding = postgres.transaction(
      async tx => {
        await tx.query('LOCK TABLE audit');
        locked.resolve();
        await released.promise;
      },
      { deadlineMs: 60_000 },
    );
    await locked.promise;
    const port = await freePort();
    logged = '';
    const opening = untilStoreAnswers(config, {
      listenAddresses: () => [{ hostname: '127.0.0.1', port }],
      log,
    });
    await until('the room is open', () =>
      fetch(`http://127.0.0.1:${port}/health/live`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
    log.flush();
    // It is open because it takes long, and not because an attempt has failed.
    expect(logged).not.toContain('waiting for the store');
    released.resolve();
    await holding;
    room = await opening;
    await postgres.close();
  });

  async function freePort(): Promise<number> {
    const server = createServer();
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    await new Promise(resolve => server.close(resolve));
    return port;
  }
});
