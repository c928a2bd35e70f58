/** The port and its connections, over real sockets, with a clock that is advanced by hand. */
import { afterEach, describe, expect, test } from 'bun:test';
import { RawConnection, sendRaw } from '../../../test/kit/raw-http.ts';
import { yieldToEventLoop } from '../../base/clock.ts';
import { streamed } from './answer.ts';
import { FakeClients, someTurns, tickUntil, until } from './fake-clients.ts';
import { type FakeHandle, type FakeWire, saying, sayPath } from './fake-wire.ts';
import type { ListenerOptions } from './listener.ts';

const clients = new FakeClients();
const start = (options?: Partial<ListenerOptions>): FakeWire => clients.start(options);
const open = (wire: FakeWire, options?: { keepsOpen: boolean }): Promise<RawConnection> =>
  clients.open(wire, options);

afterEach(() => clients.end());

/** Opens this many connections that have sent this text, and that the listener has seen. */
async function openMany(wire: FakeWire, count: number, text: string): Promise<RawConnection[]> {
  const before = wire.listener.connections;
  const opened: RawConnection[] = [];
  for (let index = 0; index < count; index += 1) opened.push(await open(wire));
  for (const client of opened) client.write(text);
  await until(() => wire.listener.connections === before + count);
  await someTurns();
  return opened;
}

const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nHost: h\r\n${headers}\r\n`;
const halfHead = 'GET / HTTP/1.1\r\nHo';

/** Accepts requests and never answers. */
const busy: FakeHandle = () => new Promise(() => {});

describe('a connection', () => {
  test('is closed after 75 seconds without a request', async () => {
    const wire = start();
    const client = await open(wire);
    client.write(get('/a'));
    await client.answers(1);
    wire.tick(74);
    expect(wire.listener.connections).toBe(1);
    wire.tick(1);
    expect(wire.listener.connections).toBe(0);
    expect((await client.answersUntilClosed()).map(({ body }) => body)).toEqual(['/a']);
  });

  test('that sends no more than a part of a head gets an answer within ten seconds', async () => {
    const wire = start();
    const [client] = await openMany(wire, 1, halfHead);
    wire.tick(9);
    expect(await client!.answersUntilClosed()).toMatchObject([
      { status: 408, headers: { connection: 'close' } },
    ]);
  });

  test('whose client disconnects is removed', async () => {
    const wire = start({ handle: busy });
    const opened = await openMany(wire, 3, get('/'));
    for (const client of opened) client.abandon();
    await tickUntil(wire, () => wire.listener.connections === 0);
    expect(wire.faults).toEqual([]);
  });

  test('whose client disconnects at any moment leaves nothing behind', async () => {
    const wire = start({
      handle: ({ path, body }) => {
        if (path === '/stream') return Promise.resolve(streamed(new Response('x'.repeat(100_000)).body!, {}));
        return new Response(body).text().then(saying, () => saying('cut short'));
      },
    });
    const chunks = '2\r\nhi\r\n0\r\n\r\n';
    const text = `POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}${get('/stream')}${get('/b')}`;
    for (let length = 0; length <= text.length; length += 1) {
      for (const leave of ['abandon', 'reset', 'finishSending'] as const) {
        const client = await open(wire);
        client.write(text.slice(0, length));
        client[leave]();
      }
    }
    await tickUntil(wire, () => wire.listener.connections === 0);
    await until(() => wire.listener.inFlight === 0);
    expect(wire.faults).toEqual([]);
  });

  test('whose client has nothing more to send still brings it the answer', async () => {
    const wire = start({ handle: request => yieldToEventLoop().then(() => sayPath(request)) });
    const client = await open(wire);
    client.write(get('/a') + get('/b'));
    client.finishSending();
    expect((await client.answersUntilClosed()).map(({ body }) => body)).toEqual(['/a', '/b']);
  });

  test('is that of a client whose address can be asked for', async () => {
    const wire = start({ handle: request => saying(request.peer.address) });
    const [answer] = await sendRaw(wire.url, get('/', 'Connection: close\r\n'));
    expect(answer?.body).toBe('127.0.0.1');
  });
});

test('a client that says close and goes on sending still gets its answer', async () => {
  const wire = start();
  for (let round = 0; round < 20; round += 1) {
    const client = await open(wire);
    client.write(get('/last', 'Connection: close\r\n'));
    client.write('x'.repeat(300_000));
    expect(await client.answersUntilClosed()).toMatchObject([{ status: 200, body: '/last' }]);
  }
});

describe('a client that does not read', () => {
  test('is cut off after ten seconds without a byte, and its stream is cancelled', async () => {
    const cancelled = Promise.withResolvers<void>();
    const wire = start({
      handle: async () =>
        streamed(
          new ReadableStream({
            pull: controller => controller.enqueue(new Uint8Array(100_000)),
            cancel: () => cancelled.resolve(),
          }),
          {},
        ),
    });
    const client = await open(wire);
    client.pause();
    client.write(get('/'));
    await until(() => wire.listener.heldBytes > 0);
    wire.tick(20);
    expect(wire.listener.connections).toBe(0);
    await cancelled.promise;
    expect(wire.faults).toEqual([]);
  });

  test('is cut off earlier when too much is kept for all of them', async () => {
    // More than any system buffers for a client that does not read, so that most of it is kept here.
    const much = new Uint8Array(24_000_000);
    const heldMaxBytes = 8_000_000;
    const wire = start({
      handle: async () => streamed(new ReadableStream({ pull: controller => controller.enqueue(much) }), {}),
      heldMaxBytes,
    });
    const opened = await openMany(wire, 3, '');
    const [frugal] = await openMany(wire, 1, halfHead);
    for (const client of opened) {
      const before = wire.listener.heldBytes;
      client.pause();
      client.write(get('/'));
      await until(() => wire.listener.heldBytes > before + heldMaxBytes);
    }
    wire.tick(1);
    expect(wire.listener.counts.shed).toBe(3);
    expect(wire.listener.connections).toBe(1);
    expect(frugal!.closed).toBe(false);
  });
});

describe('at the connection cap', () => {
  const connectionsMax = 8;

  test.each([
    ['a half-sent head', halfHead],
    ['nothing', ''],
    ['a whole request before', get('/')],
  ])('evicts one that has been waiting after sending %s', async (_what, sent) => {
    const wire = start({ connectionsMax });
    const opened = await openMany(wire, connectionsMax, sent);
    wire.tick(2);
    const [answer] = await sendRaw(wire.url, get('/new', 'Connection: close\r\n'));
    expect(answer).toMatchObject({ status: 200, body: '/new' });
    expect(wire.listener.counts).toMatchObject({ evicted: 1, rejected: 0, shed: 0 });
    await opened[0]!.textUntilClosed();
    await until(() => wire.listener.connections === connectionsMax - 1);
  });

  test('a client that has just connected and sent nothing yet keeps its place', async () => {
    const wire = start({ connectionsMax });
    const opened = await openMany(wire, connectionsMax, '');
    expect(await sendRaw(wire.url, get('/new'))).toMatchObject([{ status: 503 }]);
    for (const client of opened) client.write(get('/'));
    await Promise.all(opened.map(client => client.answers(1)));
    expect(wire.listener.counts).toMatchObject({ evicted: 0, rejected: 1, shed: 0 });
  });

  test('even a client that has just connected makes room, if it stopped in the middle of a request', async () => {
    const wire = start({ connectionsMax });
    await openMany(wire, connectionsMax, halfHead);
    for (let visit = 0; visit < 3 * connectionsMax; visit += 1) {
      const [answer] = await sendRaw(wire.url, get('/new', 'Connection: close\r\n'));
      expect(answer).toMatchObject({ status: 200, body: '/new' });
      await openMany(wire, connectionsMax - wire.listener.connections, halfHead);
    }
    expect(wire.listener.counts.rejected).toBe(0);
  });

  test('a client that sent a request a moment ago keeps its place', async () => {
    const wire = start({ connectionsMax });
    const opened = await openMany(wire, connectionsMax, get('/'));
    await Promise.all(opened.map(client => client.answers(1)));
    expect(await sendRaw(wire.url, get('/new'))).toMatchObject([{ status: 503 }]);
    for (const client of opened) client.write(get('/again'));
    for (const client of opened) expect((await client.answers(2))[1]?.body).toBe('/again');
  });

  test('with all busy, a new client is asked to retry later, and served once there is room', async () => {
    const wire = start({
      connectionsMax,
      handle: request => (request.path === '/busy' ? busy(request) : sayPath(request)),
    });
    const opened = await openMany(wire, connectionsMax, get('/busy'));
    await until(() => wire.listener.inFlight === connectionsMax);
    wire.tick(5);
    const [refused] = await sendRaw(wire.url, get('/new'));
    expect(refused).toMatchObject({ status: 503, headers: { 'retry-after': '1', connection: 'close' } });
    expect(wire.listener.counts).toMatchObject({ evicted: 0, rejected: 1, shed: 0 });
    expect(wire.listener.connections).toBe(connectionsMax);
    opened[0]!.abandon();
    await tickUntil(wire, () => wire.listener.connections < connectionsMax);
    expect(await sendRaw(wire.url, get('/new', 'Connection: close\r\n'))).toMatchObject([{ body: '/new' }]);
  });

  test('rejected clients take no slot, and draining does not wait for them', async () => {
    const wire = start({ connectionsMax, handle: busy });
    const busyOnes = await openMany(wire, connectionsMax, get('/'));
    await until(() => wire.listener.inFlight === connectionsMax);
    for (let index = 0; index < 20; index += 1) await open(wire, { keepsOpen: true });
    await until(() => wire.listener.counts.rejected === 20);
    expect(wire.listener.connections).toBe(connectionsMax);
    wire.tick(2);
    // An open connection keeps a listener from finishing its drain.
    for (const client of busyOnes) client.abandon();
    const drained = wire.listener.drain();
    await tickUntil(wire, () => wire.listener.connections === 0);
    await drained;
  });
});

describe('draining', () => {
  test('accepts no new clients, closes idle ones, and ends each connection with the answer it waits for', async () => {
    const answer = Promise.withResolvers<void>();
    const wire = start({
      handle: request =>
        request.path === '/' ? answer.promise.then(() => saying('late')) : sayPath(request),
    });
    const [unused] = await openMany(wire, 1, '');
    const [idle] = await openMany(wire, 1, get('/idle'));
    await idle!.answers(1);
    const [waiting] = await openMany(wire, 1, get('/'));
    await until(() => wire.listener.inFlight === 1);
    const drained = wire.listener.drain();
    expect(wire.listener.connections).toBe(1);
    await Promise.all([unused!.textUntilClosed(), idle!.textUntilClosed()]);
    expect(RawConnection.open(wire.url)).rejects.toThrow();
    answer.resolve();
    expect(await waiting!.answersUntilClosed()).toMatchObject([
      { body: 'late', headers: { connection: 'close' } },
    ]);
    await drained;
    await wire.listener.drain();
  });

  test('with grace lets an idle client, and one that has just connected, send one more request', async () => {
    const wire = start();
    const [idle] = await openMany(wire, 1, get('/a'));
    await idle!.answers(1);
    const [unused, silent] = await openMany(wire, 2, '');
    const drained = wire.listener.drain(2);
    wire.tick(1);
    for (const client of [idle!, unused!]) {
      client.write(get('/once-more'));
      const answers = await client.answersUntilClosed();
      expect(answers.at(-1)).toMatchObject({ body: '/once-more', headers: { connection: 'close' } });
    }
    await until(() => wire.listener.connections === 1);
    wire.tick(1);
    await silent!.textUntilClosed();
    await drained;
  });

  test('that takes too long can be ended', async () => {
    const wire = start({ handle: busy });
    const opened = await openMany(wire, 3, get('/'));
    const drained = wire.listener.drain();
    wire.listener.cutOff();
    await drained;
    for (const client of opened) expect(await client.answersUntilClosed()).toEqual([]);
  });

  test('stops the clock', async () => {
    const wire = start();
    await wire.listener.drain();
    wire.tick(1_000);
    expect(wire.faults).toEqual([]);
  });
});

describe('requests sent without waiting', () => {
  test('are answered in their order, at once or later', async () => {
    const wire = start({
      handle: request =>
        request.path.startsWith('/later')
          ? yieldToEventLoop().then(() => sayPath(request))
          : sayPath(request),
    });
    const paths = ['/a', '/later/b', '/c', '/later/d', '/later/e', '/f'];
    const client = await open(wire);
    client.write(paths.map(path => get(path)).join(''));
    expect((await client.answers(paths.length)).map(({ body }) => body)).toEqual(paths);
  });
});
