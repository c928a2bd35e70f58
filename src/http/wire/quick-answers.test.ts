import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { yieldToEventLoop } from '../../base/clock.ts';
import { answerByPath, connect, get, ok, tails } from './fake-connection.ts';

describe('quick answers', () => {
  const quickHead = 'HTTP/1.1 302 Found\r\nLocation: https://example.com/\r\n';
  /** Knows one path; the handler gives the same answer for it. */
  function connectQuickly(isQuick: boolean, head = quickHead) {
    const used = { quick: 0 };
    const connection = connect(
      request =>
        request.path === '/known' && request.query === '' && request.method === 'GET'
          ? { status: 302, head: quickHead, body: '' }
          : answerByPath(request),
      (bytes, from, to, headers, _peer, target) => {
        if (!isQuick || Buffer.from(bytes).toString('latin1', from, to) !== 'known') return 0;
        expect(headers.hasHost).toBe(true);
        used.quick += 1;
        return Buffer.from(target.buffer, target.byteOffset, target.length).write(head);
      },
    );
    return { ...connection, used };
  }
  const agent = 'User-Agent: a\r\n';
  let agents = 0;
  /** A header that no connection has sent before. */
  function newAgent(): string {
    agents += 1;
    return `User-Agent: quick ${agents}\r\n`;
  }

  test('are given to requests that differ from the last in their path only', () => {
    const { receive, socket, used } = connectQuickly(true);
    const headers = newAgent();
    for (const _ of [1, 2, 3, 4]) receive(get('/known', headers));
    // The first shows the headers, the second that they repeat.
    expect(used.quick).toBe(2);
    expect(socket.text).toBe((quickHead + tails.keep).repeat(4));
    receive(get('/other', headers));
    receive(get('/known', newAgent()));
    expect(used.quick).toBe(2);
  });

  test('are given to the first request of a connection that begins like others did', () => {
    const headers = `${newAgent()}Connection: close\r\n`;
    const connections = [1, 2, 3, 4].map(() => connectQuickly(true));
    for (const { receive } of connections) receive(get('/known', headers));
    // The second shows that connections have these headers in common.
    expect(connections.map(({ used }) => used.quick)).toEqual([0, 0, 1, 1]);
    for (const { socket } of connections)
      expect([socket.text, socket.calls]).toEqual([quickHead + tails.close, ['close']]);
    const other = connectQuickly(true);
    other.receive(get('/now', headers));
    expect([other.socket.text, other.socket.calls]).toEqual([ok('now', 'close'), ['close']]);
    const almost = connectQuickly(true);
    almost.receive(get('/known', headers.replace('close', 'clos3')));
    expect([almost.socket.text, almost.used.quick]).toEqual([quickHead + tails.keep, 0]);
  });

  test('are not given to a first request whose headers belong to one client', () => {
    const headers = `${newAgent()}Cookie: a=b\r\n`;
    const connections = [1, 2, 3, 4].map(() => connectQuickly(true));
    for (const { receive } of connections) receive(get('/known', headers));
    expect(connections.map(({ used }) => used.quick)).toEqual([0, 0, 0, 0]);
  });

  test('of which some waits to be sent are sent before the connection is closed', () => {
    const headers = `${newAgent()}Connection: close\r\n`;
    for (const _ of [1, 2]) connectQuickly(true).receive(get('/known', headers));
    const slow = connectQuickly(true);
    slow.socket.room = 10;
    slow.receive(get('/known', headers));
    expect([slow.used.quick, slow.socket.calls]).toEqual([1, []]);
    slow.socket.room = Number.POSITIVE_INFINITY;
    slow.connection.drained();
    expect([slow.socket.text, slow.socket.calls]).toEqual([quickHead + tails.close, ['close']]);
  });

  test('are those that the handler would give, whatever is sent and however it is cut', async () => {
    const paths = ['/known?a', '/known/', '/%6bnown', '/now', '/later', '/known HTTP/1.1\r\nX: '];
    const odd = fc.constantFrom(
      ...['', agent, 'Connection: close\r\n', 'Content-Length: 2\r\n'].flatMap(headers =>
        ['/known', ...paths].map(path => get(path, headers)),
      ),
      'HEAD /known HTTP/1.1\r\nHost: h\r\n\r\n',
      'GET /known HTTP/1.0\r\nHost: h\r\n\r\n',
      '\r\n',
      'hi',
    );
    const usual = fc.constantFrom(get('/known'), get('/now'));
    const request = fc.oneof({ weight: 4, arbitrary: usual }, { weight: 1, arbitrary: odd });
    const pieces = fc.array(
      fc.record({ text: request, joins: fc.constantFrom(true, false, false, false), waits: fc.boolean() }),
      {
        maxLength: 12,
      },
    );
    let quick = 0;
    await fc.assert(
      fc.asyncProperty(pieces, async sent => {
        const [with_, without] = [connectQuickly(true), connectQuickly(false)];
        let text = '';
        for (const each of sent) {
          text += each.text;
          if (each.joins) continue;
          for (const { receive } of [with_, without]) receive(text);
          text = '';
          if (each.waits) await yieldToEventLoop();
        }
        for (const { receive } of [with_, without]) receive(text);
        await yieldToEventLoop();
        expect(with_.socket.text).toBe(without.socket.text);
        expect(with_.socket.calls).toEqual(without.socket.calls);
        expect(with_.context.inFlight).toBe(without.context.inFlight);
        quick += with_.used.quick;
      }),
      { numRuns: 1_000 },
    );
    expect(quick).toBeGreaterThan(0);
  });

  test('that the client does not read are kept, while others use the same buffer', () => {
    const [slow, quick] = [connectQuickly(true), connectQuickly(true, 'x'.repeat(200))];
    const headers = newAgent();
    for (const { receive } of [slow, quick]) for (const _ of [1, 2]) receive(get('/known', headers));
    slow.socket.room = 10;
    slow.receive(get('/known', headers));
    quick.receive(get('/known', headers));
    slow.receive(get('/now'));
    slow.socket.room = Number.POSITIVE_INFINITY;
    slow.connection.drained();
    expect(slow.socket.text).toBe((quickHead + tails.keep).repeat(3) + ok('now'));
    expect(slow.used.quick).toBe(1);
  });

  test('are not given while a part of a request waits for its rest', () => {
    const { receive, socket, used } = connectQuickly(true);
    const headers = newAgent();
    for (const _ of [1, 2]) receive(get('/known', headers));
    receive('GET /no');
    receive(get('/known', headers));
    expect(used.quick).toBe(0);
    expect(socket.text.slice(2 * (quickHead + tails.keep).length)).toStartWith('HTTP/1.1 400 ');
  });

  test('are not given while draining', () => {
    const { receive, context, used } = connectQuickly(true);
    const headers = newAgent();
    for (const _ of [1, 2]) receive(get('/known', headers));
    Object.assign(context, { isDraining: true });
    receive(get('/known', headers));
    expect(used.quick).toBe(0);
  });
});
