/** One network's share of connections and of bodies that have not arrived yet, over real sockets. */
import { afterEach, describe, expect, test } from 'bun:test';
import type { RawConnection } from '../../../test/kit/raw-http.ts';
import type { Problem } from '../../base/errors.ts';
import { FakeClients, someTurns, until } from './fake-clients.ts';
import { type FakeHandle, type FakeWire, refuse, saying, sayPath } from './fake-wire.ts';

const clients = new FakeClients();
const start: FakeClients['start'] = options => clients.start(options);
afterEach(() => clients.end());

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`;
const halfHead = 'GET / HTTP/1.1\r\nHo';
/** Accepts requests and never answers. */
const busy: FakeHandle = () => new Promise(() => {});

/** Opens this many connections that have sent this text, and that the listener has seen. */
async function openFrom(wire: FakeWire, from: string, count: number, text: string): Promise<RawConnection[]> {
  const before = wire.listener.connections;
  const opened = await Promise.all(Array.from({ length: count }, () => clients.open(wire, { from })));
  for (const client of opened) client.write(text);
  await until(() => wire.listener.connections === before + count);
  await someTurns();
  return opened;
}

const openMany = (wire: FakeWire, count: number, text: string) => openFrom(wire, '127.0.0.1', count, text);

describe('connections of one network', () => {
  const connectionsMax = 8;
  /** Loopback addresses stand for networks. */
  const networkOf = (address: string) => ({ host: address, site: address });
  const askFrom = async (wire: FakeWire, address: string, path: string) => {
    const client = await clients.open(wire, { from: address });
    client.write(get(path, 'Connection: close\r\n'));
    return client.answersUntilClosed();
  };

  test('are at most its share: one more makes room for itself', async () => {
    const wire = start({ connectionsMax, networkOf });
    await openFrom(wire, '127.0.0.2', 4, halfHead);
    expect(await askFrom(wire, '127.0.0.2', '/mine')).toMatchObject([{ status: 200 }]);
    expect(wire.listener.counts).toMatchObject({ evicted: 1, rejected: 0 });
  });

  test('that are all busy leave no slot for one more, except for a health check', async () => {
    const wire = start({
      connectionsMax,
      networkOf,
      isVital: ({ path }) => path === '/health/live',
      handle: request => (request.path === '/busy' ? busy(request) : sayPath(request)),
    });
    await openFrom(wire, '127.0.0.2', 4, get('/busy'));
    await until(() => wire.listener.inFlight === 4);
    expect(await askFrom(wire, '127.0.0.2', '/mine')).toMatchObject([
      { status: 503, headers: { 'retry-after': '1', connection: 'close' } },
    ]);
    expect(await askFrom(wire, '127.0.0.2', '/health/live')).toMatchObject([{ status: 200 }]);
    expect(await askFrom(wire, '127.0.0.3', '/other')).toMatchObject([{ status: 200 }]);
  });

  test('make room for those of a network that has fewer, even if they have just been answered or are busy', async () => {
    for (const [text, inFlight] of [
      [get('/'), 0],
      [get('/busy'), 4],
    ] as const) {
      const wire = start({
        connectionsMax,
        networkOf,
        handle: request => (request.path === '/busy' ? busy(request) : sayPath(request)),
      });
      await openFrom(wire, '127.0.0.2', 4, text);
      await openFrom(wire, '127.0.0.3', 4, text);
      await until(() => wire.listener.inFlight === 2 * inFlight);
      expect(await askFrom(wire, '127.0.0.4', '/new')).toMatchObject([{ status: 200, body: '/new' }]);
      expect(wire.listener.counts).toMatchObject({ evicted: 1, rejected: 0 });
    }
  });

  test('that send nothing beyond the share are closed: most at once, the newest within two seconds', async () => {
    const wire = start({ connectionsMax, networkOf, handle: busy });
    await openFrom(wire, '127.0.0.2', 4, get('/'));
    await until(() => wire.listener.inFlight === 4);
    const beyond = await Promise.all(
      Array.from({ length: 20 }, () => clients.open(wire, { from: '127.0.0.2' })),
    );
    await until(() => wire.listener.counts.rejected === 20);
    await until(() => beyond.filter(client => client.closed).length >= 18);
    wire.tick(2);
    await until(() => beyond.every(client => client.closed));
    expect(wire.listener.connections).toBe(4);
  });

  test('beyond the share of one /64 make room for themselves, not at the cost of others in the /48', async () => {
    const hosts: Record<string, string> = { '127.0.0.2': 'greedy', '127.0.0.3': 'quiet' };
    const wire = start({ connectionsMax, networkOf: address => ({ host: hosts[address]!, site: 'site' }) });
    const quiet = await openFrom(wire, '127.0.0.3', 2, halfHead);
    await openFrom(wire, '127.0.0.2', 4, halfHead);
    for (let index = 0; index < 10; index += 1) {
      const client = await clients.open(wire, { from: '127.0.0.2' });
      client.write(halfHead);
      await someTurns();
    }
    expect(wire.listener.connections).toBe(6);
    expect(quiet.some(client => client.closed)).toBe(false);
  });

  test('of a proxy are not limited', async () => {
    const wire = start({ connectionsMax, networkOf: () => undefined });
    await openFrom(wire, '127.0.0.2', connectionsMax, get('/'));
    expect(wire.listener.counts).toMatchObject({ evicted: 0, rejected: 0 });
  });
});

describe('bodies that are still to come', () => {
  const half = 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nab';
  const handle: FakeHandle = ({ body }) =>
    new Response(body).text().then(saying, error => refuse(error as Problem));

  test('are given up, the oldest first, when one network has more than its share of them', async () => {
    const wire = start({
      connectionsMax: 16,
      handle,
      networkOf: () => undefined,
      clientOf: ({ headers }) => ({ host: headers.get('x-from') ?? '', site: headers.get('x-from') ?? '' }),
    });
    const from = (name: string) => half.replace('Host: h', `Host: h\r\nX-From: ${name}`);
    const [oldest, second] = await openMany(wire, 2, from('a'));
    const [other] = await openMany(wire, 1, from('b'));
    const [newest] = await openMany(wire, 1, from('a'));
    expect(await oldest!.answersUntilClosed()).toMatchObject([
      { status: 503, headers: { 'retry-after': '1' } },
    ]);
    expect(wire.listener.bodiesGivenUp).toBe(1);
    for (const client of [second!, other!, newest!]) {
      client.write('cd');
      expect(await client.answers(1)).toMatchObject([{ status: 200, body: 'abcd' }]);
    }
    expect(wire.listener.bodiesGivenUp).toBe(1);
  });

  test('of the network that has most are given up when there are too many in all', async () => {
    const wire = start({
      connectionsMax: 16,
      handle,
      sharePercent: 100,
      clientOf: ({ headers }) => ({ host: headers.get('x-from') ?? '', site: headers.get('x-from') ?? '' }),
    });
    const from = (name: string) => half.replace('Host: h', `Host: h\r\nX-From: ${name}`);
    const [single] = await openMany(wire, 1, from('a'));
    const [first] = await openMany(wire, 3, from('b'));
    const [newcomer] = await openMany(wire, 1, from('c'));
    expect(await first!.answersUntilClosed()).toMatchObject([{ status: 503 }]);
    for (const client of [single!, newcomer!]) {
      client.write('cd');
      expect(await client.answers(1)).toMatchObject([{ status: 200, body: 'abcd' }]);
    }
  });
});
