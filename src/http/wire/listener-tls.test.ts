/** The port with TLS, over real sockets, with a clock that is advanced by hand. */
import { afterEach, describe, expect, test } from 'bun:test';
import { type AddressInfo, connect, createServer } from 'node:net';
import { RawConnection, sendRaw } from '../../../test/kit/raw-http.ts';
import { selfSigned } from '../../../test/kit/self-signed.ts';
import { yieldToEventLoop } from '../../base/clock.ts';
import { streamed } from './answer.ts';
import { FakeClients, someTurns, tickUntil, until } from './fake-clients.ts';
import { type FakeHandle, type FakeWire, saying, sayPath } from './fake-wire.ts';
import { identityOf, type TlsIdentity } from './listen-socket.ts';
import type { ListenerOptions } from './listener.ts';

const identityFor = (name: string): TlsIdentity => {
  const { certificate, key } = selfSigned({ name });
  return identityOf(certificate, key);
};
const [first, second] = [identityFor('first.test'), identityFor('second.test')];

const clients = new FakeClients();
afterEach(() => clients.end());

const start = (options: Partial<ListenerOptions> = {}): FakeWire =>
  clients.start({ identity: first, ...options });
/** The same port for a client that does not speak TLS. */
const plain = ({ url }: FakeWire) => ({ url: url.replace('https:', 'http:') });

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`;
const last = 'Connection: close\r\n';
const busy: FakeHandle = () => new Promise(() => {});
/** More than any system buffers for a client that does not read. */
const streamBytes = 40_000_000;

describe('over TLS', () => {
  test('requests are answered in their order, in whatever pieces they come', async () => {
    const wire = start({
      handle: request =>
        request.path.startsWith('/later')
          ? yieldToEventLoop().then(() => sayPath(request))
          : sayPath(request),
    });
    const client = await clients.open(wire);
    const paths = ['/a', '/later/b', '/c', '/later/d'];
    client.write(paths.map(path => get(path)).join(''));
    await client.answers(paths.length);
    for (const character of get('/slowly')) client.write(character);
    const bodies = (await client.answers(paths.length + 1)).map(({ body }) => body);
    expect(bodies).toEqual([...paths, '/slowly']);
  });

  test('a large body arrives whole, and so does a large answer', async () => {
    const wire = start({ handle: async ({ body }) => new Response(await new Response(body).bytes()) });
    const sent = 'abcdefgh'.repeat(200_000);
    const head = `POST / HTTP/1.1\r\nHost: h\r\n${last}Content-Length: ${sent.length}\r\n\r\n`;
    const [answer] = await sendRaw(wire.url, head + sent);
    expect(answer?.body === sent).toBe(true);
  });

  test('a stream arrives whole, at the pace of its reader', async () => {
    const chunk = new Uint8Array(100_000).fill(97);
    let made = 0;
    const wire = start({
      handle: async () =>
        streamed(
          new ReadableStream({
            pull(controller) {
              if (made >= streamBytes) return controller.close();
              made += chunk.length;
              controller.enqueue(chunk);
            },
          }),
          {},
        ),
    });
    const client = await clients.open(wire);
    client.pause();
    client.write(get('/', last));
    await until(() => wire.listener.heldBytes > 0);
    expect(made).toBeLessThan(streamBytes);
    client.resume();
    const text = await client.textUntilClosed();
    expect(text.match(/a/g)?.length).toBeGreaterThan(streamBytes - 1);
    expect(text).toEndWith('0\r\n\r\n');
  });

  test('a client that has nothing more to send still gets its answer', async () => {
    const wire = start({ handle: request => yieldToEventLoop().then(() => sayPath(request)) });
    const client = await clients.open(wire, { keepsOpen: true });
    client.write(get('/a'));
    client.finishSending();
    expect((await client.answersUntilClosed()).map(({ body }) => body)).toEqual(['/a']);
  });

  test('a client that does not read is cut off after ten seconds without a byte', async () => {
    const endless = (): ReadableStream<Uint8Array> =>
      new ReadableStream({ pull: controller => controller.enqueue(new Uint8Array(100_000)) });
    const wire = start({ handle: async () => streamed(endless(), {}) });
    const client = await clients.open(wire);
    client.pause();
    client.write(get('/'));
    await until(() => wire.listener.heldBytes > 0);
    wire.tick(20);
    expect(wire.listener.connections).toBe(0);
    expect(wire.faults).toEqual([]);
  });

  test('a client that has had its last answer and stays is disconnected within seconds', async () => {
    const wire = start();
    const client = await clients.open(wire, { keepsOpen: true });
    client.pause();
    client.write(get('/', last));
    await until(() => wire.listener.connections === 1);
    await someTurns();
    wire.tick(3);
    await someTurns();
    expect(wire.listener.connections).toBe(0);
  });

  test('a client whose address is asked for has one', async () => {
    const wire = start({ handle: ({ peer }) => saying(peer.address) });
    expect(await sendRaw(wire.url, get('/', last))).toMatchObject([{ body: '127.0.0.1' }]);
  });

  test('draining ends each connection with the answer it waits for', async () => {
    const answer = Promise.withResolvers<void>();
    const wire = start({ handle: () => answer.promise.then(() => saying('late')) });
    const idle = await clients.open(wire);
    const waiting = await clients.open(wire);
    waiting.write(get('/'));
    await until(() => wire.listener.inFlight === 1);
    const drained = wire.listener.drain();
    await idle.textUntilClosed();
    answer.resolve();
    expect(await waiting.answersUntilClosed()).toMatchObject([
      { body: 'late', headers: { connection: 'close' } },
    ]);
    await drained;
  });
});

describe('a client that does not complete the handshake', () => {
  test.each([
    ['says nothing', ''],
    ['stops in the middle of it', '\x16\x03\x01\x02\x00\x01\x00'],
  ])('because it %s is disconnected within ten seconds', async (_what, bytes) => {
    const wire = start();
    const client = await clients.open(plain(wire));
    client.write(bytes);
    await until(() => wire.listener.connections === 1);
    await someTurns();
    wire.tick(9);
    expect(await client.textUntilClosed()).toBe('');
    expect(wire.listener.connections).toBe(0);
  });

  test('because it speaks HTTP is disconnected at once, counted, and is no fault of ours', async () => {
    const wire = start();
    const client = await clients.open(plain(wire));
    client.write(get('/'));
    expect(await client.textUntilClosed()).not.toContain('HTTP');
    await until(() => wire.listener.connections === 0);
    expect(wire.listener.counts.failedHandshakes).toBe(1);
    expect(wire.faults).toEqual([]);
  });

  test('is evicted for one that does, at the connection cap', async () => {
    const wire = start({ connectionsMax: 8 });
    for (let count = 0; count < 8; count += 1) await clients.open(plain(wire));
    await until(() => wire.listener.connections === 8);
    wire.tick(2);
    expect(await sendRaw(wire.url, get('/new', last))).toMatchObject([{ status: 200, body: '/new' }]);
    expect(wire.listener.counts.evicted).toBe(1);
  });
});

test('an idle client that is evicted is disconnected, also if it does not answer', async () => {
  const wire = start({ connectionsMax: 8 });
  const idle: RawConnection[] = [];
  for (let count = 0; count < 8; count += 1) idle.push(await clients.open(wire, { keepsOpen: true }));
  await until(() => wire.listener.connections === 8);
  wire.tick(2);
  expect(await sendRaw(wire.url, get('/new', last))).toMatchObject([{ status: 200, body: '/new' }]);
  expect(wire.listener.counts.evicted).toBe(1);
  idle[0]!.write(get('/again'));
  expect(await idle[0]!.textUntilClosed()).toBe('');
});

test('a client whose bytes are changed on the way is disconnected, read no further, and is no fault of ours', async () => {
  const heard: string[] = [];
  const wire = start({ handle: request => saying(String(heard.push(request.path))) });
  let isChanging = false;
  const between = createServer(client => {
    const server = connect(Number(new URL(wire.url).port), '127.0.0.1');
    client.on('data', (bytes: Buffer) => {
      if (isChanging) bytes[bytes.length - 1]! ^= 1;
      server.write(bytes);
    });
    server.pipe(client);
    for (const each of [client, server]) each.on('error', () => {});
    client.on('close', () => server.destroy());
  });
  await new Promise<void>(resolve => between.listen(0, '127.0.0.1', resolve));
  const client = await clients.open({ url: `https://127.0.0.1:${(between.address() as AddressInfo).port}` });
  client.write(get('/whole'));
  await client.answers(1);
  isChanging = true;
  client.write(get('/changed'));
  await client.textUntilClosed();
  await until(() => wire.listener.connections === 0);
  between.close();
  expect(heard).toEqual(['/whole']);
  expect(wire.faults).toEqual([]);
});

test('a client that is rejected gets an encrypted answer that says so', async () => {
  const connectionsMax = 8;
  const wire = start({ connectionsMax, handle: busy });
  for (let count = 0; count < connectionsMax; count += 1) (await clients.open(wire)).write(get('/'));
  await until(() => wire.listener.inFlight === connectionsMax);
  expect(await sendRaw(wire.url, get('/new'))).toMatchObject([{ status: 503 }]);
});

test('a client that disconnects at any moment leaves nothing behind', async () => {
  const wire = start({
    handle: ({ body }) => new Response(body).text().then(saying, () => saying('cut short')),
  });
  const text = `POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody${get('/b')}`;
  for (let length = 0; length <= text.length; length += 7) {
    for (const leave of ['abandon', 'reset', 'finishSending'] as const) {
      const client = await clients.open(wire);
      client.write(text.slice(0, length));
      client[leave]();
    }
  }
  await tickUntil(wire, () => wire.listener.connections === 0);
  await until(() => wire.listener.inFlight === 0);
  expect(wire.faults).toEqual([]);
});

describe('a certificate that is renewed', () => {
  test('is used for new connections from then on, and connected clients do not notice', async () => {
    const wire = start();
    const before = await clients.open(wire);
    before.write(get('/a'));
    await before.answers(1);
    const waiting = await clients.open(plain(wire));
    wire.listener.renew(second);
    const after = await clients.open(wire);
    expect([before.serverName, after.serverName]).toEqual(['first.test', 'second.test']);
    before.write(get('/b'));
    after.write(get('/c'));
    expect((await before.answers(2)).map(({ body }) => body)).toEqual(['/a', '/b']);
    expect(await after.answers(1)).toMatchObject([{ body: '/c' }]);
    expect([before.closed, waiting.closed]).toEqual([false, false]);
    expect(wire.listener.connections).toBe(3);
  });

  test('while clients come and go loses none of them, however often it is renewed', async () => {
    const wire = start();
    let isOver = false;
    let visits = 0;
    const visitor = async (): Promise<void> => {
      while (!isOver) {
        expect(await sendRaw(wire.url, get('/', last))).toMatchObject([{ status: 200 }]);
        visits += 1;
      }
    };
    const visitors = Array.from({ length: 8 }, visitor);
    for (let round = 0; round < 20; round += 1) {
      const seen = visits;
      wire.listener.renew(round % 2 === 0 ? second : first);
      await until(() => visits > seen + 8);
    }
    isOver = true;
    await Promise.all(visitors);
    expect(wire.faults).toEqual([]);
  });

  test('does not keep a listener from ending', async () => {
    const wire = start();
    const drained = wire.listener.drain();
    wire.listener.renew(second);
    await drained;
    expect(RawConnection.open(plain(wire).url)).rejects.toThrow();
  });
});
