import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { yieldToEventLoop } from '../../base/clock.ts';
import { connect, get, obliging, ok, tails } from './fake-connection.ts';

describe('quick answers', () => {
  const quickHead = 'HTTP/1.1 302 Found\r\nLocation: https://example.com/\r\n';
  /** Knows one path; the handler gives the same answer for it. */
  function connectQuickly(isQuick: boolean, head = quickHead) {
    const used = { quick: 0 };
    const connection = connect(
      request =>
        request.path === '/known' && request.query === '' && request.method === 'GET'
          ? { status: 302, head: quickHead, body: '' }
          : obliging(request),
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

  test('are given to requests that differ from the last in their path only', () => {
    const { receive, socket, used } = connectQuickly(true);
    for (const _ of [1, 2, 3, 4]) receive(get('/known', agent));
    // The first shows the headers, the second that they repeat.
    expect(used.quick).toBe(2);
    expect(socket.text).toBe((quickHead + tails.keep).repeat(4));
    receive(get('/other', agent));
    receive(get('/known', 'User-Agent: b\r\n'));
    expect(used.quick).toBe(2);
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
        expect(with_.around.inFlight).toBe(without.around.inFlight);
        quick += with_.used.quick;
      }),
      { numRuns: 1_000 },
    );
    expect(quick).toBeGreaterThan(0);
  });

  test('that the client does not read are kept, while others use the same buffer', () => {
    const [slow, quick] = [connectQuickly(true), connectQuickly(true, 'x'.repeat(200))];
    for (const { receive } of [slow, quick]) for (const _ of [1, 2]) receive(get('/known'));
    slow.socket.room = 10;
    slow.receive(get('/known'));
    quick.receive(get('/known'));
    slow.receive(get('/now'));
    slow.socket.room = Number.POSITIVE_INFINITY;
    slow.connection.drained();
    expect(slow.socket.text).toBe((quickHead + tails.keep).repeat(3) + ok('now'));
    expect(slow.used.quick).toBe(1);
  });

  test('are not given while a part of a request waits for its rest', () => {
    const { receive, socket, used } = connectQuickly(true);
    for (const _ of [1, 2]) receive(get('/known'));
    receive('GET /no');
    receive(get('/known'));
    expect(used.quick).toBe(0);
    expect(socket.text.slice(2 * (quickHead + tails.keep).length)).toStartWith('HTTP/1.1 400 ');
  });

  test('are not given while draining', () => {
    const { receive, around, used } = connectQuickly(true);
    for (const _ of [1, 2]) receive(get('/known'));
    Object.assign(around, { isDraining: true });
    receive(get('/known'));
    expect(used.quick).toBe(0);
  });
});
