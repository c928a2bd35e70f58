/** Proxies that name the client of a connection before its first byte, over real sockets. */
import { afterEach, describe, expect, test } from 'bun:test';
import { FakeClients, someTurns, until } from './fake-clients.ts';
import { type FakeWire, saying } from './fake-wire.ts';

const clients = new FakeClients();
afterEach(() => clients.end());

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: h\r\n\r\n`;
const proxyLine = (address: string) => `PROXY TCP4 ${address} 127.0.0.1 40000 8080\r\n`;
const local = '\r\n\r\n\0\r\nQUIT\n\x20\0\0\0';

const start = (isTrusted = true): FakeWire =>
  clients.start({ sendsProxyHeader: () => isTrusted, handle: ({ peer }) => saying(peer.address) });

async function addressesSeen(wire: FakeWire, pieces: readonly string[], requests: number): Promise<string[]> {
  const client = await clients.open(wire);
  for (const piece of pieces) {
    client.write(piece);
    await someTurns();
  }
  return (await client.answers(requests)).map(({ body }) => body);
}

describe('a trusted peer', () => {
  test('names the client of all requests of its connection', async () => {
    const wire = start();
    const bytes = proxyLine('198.51.100.7') + get('/a') + get('/b');
    expect(await addressesSeen(wire, [bytes], 2)).toEqual(['198.51.100.7', '198.51.100.7']);
  });

  test('may need several packets for it', async () => {
    const wire = start();
    const [line, request] = [proxyLine('198.51.100.7'), get('/a')];
    const pieces = [
      line.slice(0, 3),
      line.slice(3, 20),
      line.slice(20),
      request.slice(0, 5),
      request.slice(5),
    ];
    expect(await addressesSeen(wire, pieces, 1)).toEqual(['198.51.100.7']);
  });

  test('that sends its own request has its own address', async () => {
    const wire = start();
    expect(await addressesSeen(wire, [local + get('/health')], 1)).toEqual(['127.0.0.1']);
  });

  test('that sends no PROXY header is not answered', async () => {
    const wire = start();
    const client = await clients.open(wire);
    client.write(get('/'));
    expect(await client.textUntilClosed()).toBe('');
    expect(wire.listener.counts.failedProxyHeaders).toBe(1);
    expect(wire.faults).toEqual([]);
  });

  test('cannot name another client later', async () => {
    const wire = start();
    const client = await clients.open(wire);
    client.write(proxyLine('198.51.100.7') + get('/') + proxyLine('203.0.113.9') + get('/'));
    expect(await client.answersUntilClosed()).toMatchObject([{ body: '198.51.100.7' }, { status: 400 }]);
  });

  test('that needs more than ten seconds for it is disconnected', async () => {
    const wire = start();
    const client = await clients.open(wire);
    client.write('PROXY TCP4 ');
    await until(() => wire.listener.connections === 1);
    await someTurns();
    wire.tick(9);
    expect(await client.textUntilClosed()).toBe('');
    expect(wire.listener.connections).toBe(0);
  });
});

test('an untrusted peer cannot send a PROXY header, and is served by its own address', async () => {
  const wire = start(false);
  const [refused] = await (async () => {
    const client = await clients.open(wire);
    client.write(proxyLine('198.51.100.7') + get('/'));
    return client.answersUntilClosed();
  })();
  expect(refused).toMatchObject({ status: 400 });
  expect(await addressesSeen(wire, [get('/')], 1)).toEqual(['127.0.0.1']);
});

test('a client that its proxy names replaces one whose network has more, at the connection cap', async () => {
  const wire = clients.start({
    connectionsMax: 8,
    sendsProxyHeader: () => true,
    networkOf: address => ({ host: address, site: address }),
    handle: ({ path }) => (path === '/busy' ? new Promise(() => {}) : saying(path)),
  });
  for (const address of ['198.51.100.7', '198.51.100.8']) {
    for (let count = 0; count < 4; count += 1)
      (await clients.open(wire)).write(proxyLine(address) + get('/busy'));
  }
  await until(() => wire.listener.inFlight === 8);
  const newcomer = await clients.open(wire);
  newcomer.write(proxyLine('198.51.100.9') + get('/new'));
  expect(await newcomer.answers(1)).toMatchObject([{ status: 200, body: '/new' }]);
  expect(wire.listener.counts.evicted).toBe(1);
  expect(wire.listener.connections).toBe(8);
});

test('a client that its proxy names when networks begin to be counted does not count against itself', async () => {
  const wire = clients.start({
    connectionsMax: 2,
    sharePercent: 50,
    sendsProxyHeader: () => true,
    networkOf: address => ({ host: address, site: address }),
    handle: ({ peer }) => saying(peer.address),
  });
  const client = await clients.open(wire);
  client.write(proxyLine('198.51.100.7') + get('/'));
  expect(await client.answers(1)).toMatchObject([{ status: 200, body: '198.51.100.7' }]);
  expect(wire.listener.counts).toMatchObject({ rejected: 0, evicted: 0 });
});
