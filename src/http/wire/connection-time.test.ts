/** The timeouts of a client, without a network and without waiting. */
import { describe, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../base/clock.ts';
import { answerByPath, connect, get, held, ok, postOf } from './fake-connection.ts';
import { saying } from './fake-wire.ts';

describe('a slow body', () => {
  const announced = 'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n';

  /** The tick at which a handler learns that its body takes too long; undefined if it does not within a minute. */
  async function failsAt(bytesPerTick: number): Promise<number | undefined> {
    let code: string | undefined;
    const { receive, connection, tick } = connect(({ body }) =>
      new Response(body).text().then(saying, error => {
        ({ code } = error);
        return saying('');
      }),
    );
    receive(`${announced}\r\n`);
    for (let ticks = 1; ticks <= 60; ticks += 1) {
      connection.receive(Buffer.alloc(bytesPerTick));
      await yieldToEventLoop();
      tick(1);
      await yieldToEventLoop();
      if (code !== undefined) return code === 'request_timeout' ? ticks : undefined;
    }
    return undefined;
  }

  test.each<[what: string, bytesPerTick: number, tick: number | undefined]>([
    ['does not come at all', 0, 9],
    ['dribbles', 1, 10],
    ['comes at half the pace', 4 * 1024, 18],
    ['keeps the pace', 8 * 1024, undefined],
  ])('that %s (%p bytes a second) is given up after %p seconds', async (_what, bytesPerTick, tick) => {
    expect(await failsAt(bytesPerTick)).toBe(tick);
  });

  test('is answered, and its connection ended', async () => {
    const { socket, receive, tick } = connect(({ body }) =>
      new Response(body).text().then(saying, error => saying(error.code)),
    );
    receive(`${announced}\r\n`);
    tick(9);
    await yieldToEventLoop();
    expect(socket.text).toBe(ok('request_timeout', 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('that is skipped ends its connection', () => {
    const { socket, receive, tick } = connect(answerByPath);
    receive(postOf('hello', '/now').slice(0, -1));
    tick(9);
    expect(socket.calls).toEqual([]);
    tick(1);
    expect(socket.calls).toEqual(['terminate']);
  });

  test('keeps its slot while bytes arrive, and not when they stop', () => {
    const { connection, receive, tick } = connect(answerByPath);
    receive('POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n');
    for (let second = 0; second < 5; second += 1) {
      receive('x'.repeat(10_000));
      tick(1);
      expect(connection.isEvictable).toBe(false);
    }
    tick(2);
    expect(connection.isEvictable).toBe(true);
  });

  test('is not that of a client that the server keeps waiting', async () => {
    for (const [headers, sentBytes] of [
      ['Expect: 100-continue\r\n', 0],
      ['', 70_000],
    ] as const) {
      const begin = Promise.withResolvers<void>();
      const { socket, receive, tick } = connect(async ({ body }) => {
        await begin.promise;
        return saying(`${(await new Response(body).bytes()).length}`);
      });
      receive(`${announced}${headers}\r\n${'x'.repeat(sentBytes)}`);
      tick(100);
      begin.resolve();
      await yieldToEventLoop();
      tick(8);
      receive('x'.repeat(1_000_000 - sentBytes));
      await yieldToEventLoop();
      expect(socket.text).toEndWith(ok('1000000'));
    }
  });
});

describe('time', () => {
  test('is not extended by a socket that reports more than once that it has room', () => {
    const { socket, receive, connection, tick } = connect(answerByPath);
    receive(get('/now'));
    tick(74);
    connection.drained();
    tick(1);
    expect(socket.calls).toEqual(['close']);
    const last = connect(answerByPath);
    last.receive('nonsense\r\n\r\n');
    last.tick(1);
    last.connection.drained();
    last.tick(1);
    expect(last.socket.calls).toEqual(['shutdown', 'close']);
  });

  test('ends a connection that sends nothing at all', () => {
    const { socket, tick } = connect(answerByPath);
    tick(8);
    expect(socket.calls).toEqual([]);
    tick(1);
    expect(socket.calls).toEqual(['close']);
  });

  test('ends a head that arrives too slowly, counted from its first byte', () => {
    const { socket, receive, tick } = connect(answerByPath);
    receive(get('/now'));
    tick(70);
    for (const byte of 'GET /slow') {
      receive(byte);
      expect(socket.text).toBe(ok('now'));
      tick(1);
    }
    expect(socket.text).toStartWith(`${ok('now')}HTTP/1.1 408 Request Timeout\r\n`);
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('is not extended by empty lines, and more than a few of them are rejected', () => {
    for (const line of ['\r\n', '\r', '\n']) {
      const { socket, receive, tick } = connect(answerByPath);
      receive(get('/now'));
      for (let sent = 0; sent < 4; sent += 1) {
        tick(20);
        receive(line);
      }
      expect(socket.calls).not.toEqual([]);
    }
    const { socket, receive } = connect(answerByPath);
    receive(`\r\n\r\n${get('/now')}\r\n\r\n\r\n\r\n${get('/now')}`);
    expect(socket.text).toBe(ok('now').repeat(2));
    receive('\r\n'.repeat(5));
    expect(socket.text).toContain('HTTP/1.1 400 Bad Request');
  });

  test('ends a connection after 75 seconds without a request, counted from the last answer', async () => {
    const { handle, answer } = held();
    const { socket, receive, tick } = connect(handle);
    receive(`${get('/')}\r\n`);
    tick(100);
    await answer('late');
    tick(74);
    expect(socket.calls).toEqual([]);
    tick(1);
    expect(socket.calls).toEqual(['close']);
  });

  test('counts from when a slow reader has read', () => {
    const { socket, receive, connection, tick } = connect(answerByPath);
    socket.room = 0;
    receive(get('/now'));
    for (let turn = 0; turn < 20; turn += 1) {
      tick(9);
      socket.room = 1;
      connection.drained();
    }
    socket.room = 1_000;
    connection.drained();
    tick(74);
    expect(socket.calls).toEqual([]);
    tick(1);
    expect(socket.calls).toEqual(['close']);
  });

  test('cuts off a client that does not read for ten seconds', () => {
    const { socket, receive, tick } = connect(answerByPath);
    socket.room = 10;
    receive(get('/now'));
    tick(10);
    expect(socket.calls).toEqual([]);
    tick(1);
    expect(socket.calls).toEqual(['terminate']);
  });

  test('drops the headers of an idle client', () => {
    const seen: unknown[] = [];
    const { receive, tick } = connect(request => {
      seen.push(request.headers);
      return saying('');
    });
    for (const ticks of [0, 4, 5]) {
      tick(ticks);
      receive(get('/'));
    }
    expect(seen[1]).toBe(seen[0]);
    expect(seen[2]).not.toBe(seen[0]);
  });
});
