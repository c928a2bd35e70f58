/** The answers of a connection, without a network; bodies and timeouts are in the files beside this one. */
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { parseAnswers } from '../../../test/kit/raw-http.ts';
import { yieldToEventLoop } from '../../base/clock.ts';
import { answerByPath, connect, get, held, ok, postOf, tails } from './fake-connection.ts';
import { saying } from './fake-wire.ts';
import type { Peer } from './wire-request.ts';

describe('answers', () => {
  test('are the same ones in the same order, however requests are cut and whatever they wait for', async () => {
    const request = fc.constantFrom(
      { text: get('/now'), answer: ok('now') },
      { text: get('/later'), answer: ok('later') },
      { text: get('/response'), answer: ok('response') },
      { text: postOf('hello'), answer: ok('POST hello') },
      { text: postOf(''), answer: ok('POST ') },
      { text: postOf('unread', '/now'), answer: ok('now') },
      {
        text: 'POST /body HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n',
        answer: ok('POST hi'),
      },
      { text: 'HEAD /now HTTP/1.1\r\nHost: h\r\n\r\n', answer: ok('now').slice(0, -3) },
    );
    const cuts = fc.array(fc.record({ at: fc.nat(), waits: fc.boolean() }), { maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.array(request, { minLength: 1, maxLength: 6 }), cuts, async (sent, places) => {
        const { socket, receive, context, faults } = connect(answerByPath);
        const text = sent.map(each => each.text).join('');
        let from = 0;
        for (const { at, waits } of places.toSorted((a, b) => a.at - b.at)) {
          const to = Math.max(from, at % text.length);
          receive(text.slice(from, to));
          from = to;
          if (waits) await yieldToEventLoop();
        }
        receive(text.slice(from));
        const expected = sent.map(each => each.answer).join('');
        const received = () => socket.text.replaceAll('content-type: text/plain;charset=utf-8\r\n', '');
        for (let turns = 0; turns < 100 && received().length < expected.length; turns += 1)
          await yieldToEventLoop();
        expect(received()).toBe(expected);
        expect({ inFlight: context.inFlight, faults, calls: socket.calls }).toEqual({
          inFlight: 0,
          faults: [],
          calls: [],
        });
      }),
    );
  });

  test('are well-formed whatever is done to the requests, and after a refusal there is none', async () => {
    const text =
      get('/now') +
      postOf('hello') +
      get('/later', 'Accept: */*\r\n') +
      'POST /body HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n' +
      get('/now');
    const damage = fc.record({
      at: fc.nat({ max: text.length }),
      remove: fc.nat({ max: 4 }),
      insert: fc.constantFrom(
        '',
        '\r',
        '\n',
        '\r\n',
        '\0',
        ' ',
        ':',
        '\xff',
        '0',
        'Host: h\r\n',
        'Content-Length: 1\r\n',
      ),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(damage, { minLength: 1, maxLength: 4 }),
        fc.nat({ max: 300 }),
        async (damages, cut) => {
          const { socket, receive, connection, context, faults } = connect(answerByPath);
          let broken = text;
          for (const { at, remove, insert } of damages) {
            broken = broken.slice(0, at) + insert + broken.slice(at + remove);
          }
          receive(broken.slice(0, cut));
          receive(broken.slice(cut));
          connection.ended();
          for (let turns = 0; turns < 100 && !socket.calls.includes('close'); turns += 1)
            await yieldToEventLoop();
          const answers = parseAnswers(socket.text);
          const statuses = answers.map(({ status }) => status);
          expect([200, 400, 505]).toEqual(expect.arrayContaining([...new Set(statuses)]));
          expect(statuses.slice(0, -1).every(status => status === 200)).toBe(true);
          expect(socket.text.split('HTTP/1.1 ')).toHaveLength(answers.length + 1);
          expect({ faults, inFlight: context.inFlight }).toEqual({ faults: [], inFlight: 0 });
          expect(socket.calls).toContain('close');
        },
      ),
      { numRuns: 500 },
    );
  });

  test('to pipelined requests are made as far as the client reads, and no further', () => {
    let handled = 0;
    const { socket, receive, connection } = connect(() => {
      handled += 1;
      return saying('x'.repeat(1_000));
    });
    socket.room = 0;
    receive(get('/').repeat(1_000));
    expect(handled).toBeLessThan(100);
    expect(connection.heldBytes).toBeLessThan(200 * 1024);
    while (connection.heldBytes > 0) {
      socket.room = 100_000;
      connection.drained();
    }
    expect(handled).toBe(1_000);
    expect(socket.text).toBe(ok('x'.repeat(1_000)).repeat(1_000));
  });

  test('have their bodies in UTF-8, also when they are sent in parts', () => {
    const { socket, receive, connection } = connect(() => saying('“é”'));
    const answer = `HTTP/1.1 200 OK\r\nContent-Length: 8\r\n${tails.keep}“é”`;
    receive(get('/'));
    expect({ text: socket.text, heldBytes: connection.heldBytes }).toEqual({ text: answer, heldBytes: 0 });
    socket.room = Buffer.byteLength(answer) - 7;
    receive(get('/'));
    expect(connection.heldBytes).toBe(7);
    socket.room = 7;
    connection.drained();
    expect(socket.text).toBe(answer + answer);
  });

  test('let a paused client continue', async () => {
    const { handle, answer } = held();
    const { socket, receive } = connect(handle);
    receive(get('/') + get('/') + 'x'.repeat(70_000));
    expect(socket.calls).toEqual(['pause']);
    await answer('first');
    expect(socket.calls).toEqual(['pause', 'resume', 'pause']);
  });

  test('to HTTP/1.0 end the connection, unless it is to be kept', () => {
    const { socket, receive } = connect(answerByPath);
    receive('GET /now HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /now HTTP/1.0\r\n\r\n');
    expect(socket.text).toBe(ok('now', 'keepOld') + ok('now', 'close'));
    expect(socket.calls).toEqual(['close']);
  });

  test('to the last request that a client announces are followed by the end', async () => {
    for (const path of ['/now', '/later']) {
      const { socket, receive } = connect(answerByPath);
      receive(get(path, 'Connection: close\r\n'));
      await yieldToEventLoop();
      expect([path, socket.calls]).toEqual([path, ['close']]);
    }
  });

  test('to the last request that a slow reader announces are sent before the end', () => {
    const { socket, connection, receive } = connect(answerByPath);
    socket.room = 10;
    receive(get('/now', 'Connection: close\r\n'));
    expect(socket.calls).toEqual([]);
    socket.room = Number.POSITIVE_INFINITY;
    connection.drained();
    expect(socket.text).toBe(ok('now', 'close'));
    expect(socket.calls).toEqual(['close']);
  });

  test('after one that ends the connection are not given', () => {
    const { socket, receive } = connect(answerByPath);
    receive(get('/now', 'Connection: close\r\n') + get('/now'));
    receive(get('/now'));
    expect(socket.text).toBe(ok('now', 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('while draining end the connection', () => {
    const { socket, receive, context } = connect(answerByPath);
    Object.assign(context, { isDraining: true });
    receive(get('/now'));
    expect(socket.text).toBe(ok('now', 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });
});

describe('a handler that fails', () => {
  test('at once ends the connection, and leaves nothing in flight', () => {
    const { socket, receive, context, faults } = connect(request => {
      if (request.path === '/now') return saying('now');
      throw new Error('broken');
    });
    receive(get('/now') + get('/broken') + get('/now'));
    expect(socket.text).toStartWith(`${ok('now')}HTTP/1.1 500 Internal Server Error\r\n`);
    expect(socket.text.split('HTTP/1.1 ')).toHaveLength(3);
    expect(socket.calls).toEqual(['shutdown']);
    expect({ inFlight: context.inFlight, faults: faults.length }).toEqual({ inFlight: 0, faults: 1 });
  });

  test('later is answered with 500, and the next request as usual', async () => {
    const { socket, receive, context, faults } = connect(request =>
      request.path === '/now' ? saying('now') : Promise.reject(new Error('broken')),
    );
    receive(get('/broken') + get('/now'));
    await yieldToEventLoop();
    expect(socket.text).toStartWith('HTTP/1.1 500 Internal Server Error\r\n');
    expect(socket.text).toEndWith(ok('now'));
    expect({ inFlight: context.inFlight, faults: faults.length }).toEqual({ inFlight: 0, faults: 1 });
  });

  test('to finish keeps its client connected, until it has ended its side and waited long enough', () => {
    const { socket, receive, context, connection, tick } = connect(() => new Promise(() => {}));
    receive(get('/'));
    tick(1_000);
    expect(socket.calls).toEqual([]);
    connection.ended();
    tick(1);
    expect(socket.calls).toEqual(['terminate']);
    expect(context.inFlight).toBe(1);
  });
});

describe('a client that has nothing more to send', () => {
  test('still gets the answers to all it sent', async () => {
    const { handle, answer } = held();
    const { socket, receive, connection } = connect(handle);
    receive(get('/') + get('/') + get('/').slice(0, 5));
    connection.ended();
    await answer('first');
    expect(socket.calls).toEqual([]);
    await answer('second');
    expect(socket.text).toBe(ok('first') + ok('second'));
    expect(socket.calls).toEqual(['close']);
  });

  test('is disconnected at once when it waits for nothing', () => {
    for (const sent of ['', get('/now'), 'GET /', postOf('x'.repeat(100), '/now').slice(0, -1)]) {
      const { socket, receive, connection } = connect(answerByPath);
      receive(sent);
      connection.ended();
      expect(socket.calls).toEqual(['close']);
    }
  });

  test('in the middle of a body gets the answer that it was too short, once', async () => {
    const { socket, receive, connection } = connect(({ body }) =>
      new Response(body)
        .text()
        .catch(error => saying(String(error)))
        .then(() => saying('too short')),
    );
    receive(postOf('hello').slice(0, -1));
    connection.ended();
    await yieldToEventLoop();
    expect(socket.text).toBe(ok('too short', 'close'));
    expect(socket.calls).toEqual(['close']);
  });

  test('in the middle of a body that waits its turn gets that answer in its turn', async () => {
    const { handle, answer } = held();
    const { socket, receive, connection, context } = connect(request =>
      request.path === '/'
        ? handle(request)
        : new Response(request.body).text().then(saying, () => saying('short')),
    );
    receive(get('/') + postOf('hello').slice(0, -1));
    connection.ended();
    await answer('first');
    await yieldToEventLoop();
    expect(socket.text).toBe(ok('first') + ok('short', 'close'));
    expect({ calls: socket.calls, inFlight: context.inFlight }).toEqual({ calls: ['close'], inFlight: 0 });
  });

  test('and reads slowly gets its answer whole', () => {
    const { socket, receive, connection, tick } = connect(answerByPath);
    socket.room = 10;
    receive(get('/now', 'Connection: close\r\n'));
    connection.ended();
    tick(5);
    expect(socket.calls).toEqual([]);
    socket.room = 1_000;
    connection.drained();
    expect(socket.text).toBe(ok('now', 'close'));
    expect(socket.calls).toEqual(['close']);
  });
});

describe('a last answer', () => {
  test('is not cut short while its client reads, however slowly', () => {
    const { socket, receive, connection, tick } = connect(() => saying('x'.repeat(1_000)));
    socket.room = 0;
    receive(get('/', 'Connection: close\r\n') + get('/'));
    for (let turn = 0; turn < 50; turn += 1) {
      tick(9);
      socket.room = 10;
      connection.drained();
    }
    expect(socket.calls).toEqual([]);
    socket.room = 10_000;
    connection.drained();
    expect(socket.text).toBe(ok('x'.repeat(1_000), 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('can be read for two ticks, and closing its connection does not reset it', () => {
    const { socket, receive, tick } = connect(answerByPath);
    receive(get('/now', 'Connection: close\r\n') + get('/now'));
    tick(1);
    expect(socket.calls).toEqual(['shutdown']);
    tick(1);
    expect(socket.calls).toEqual(['shutdown', 'close']);
  });

  test('is followed by nothing, whatever else comes', () => {
    const { socket, receive } = connect(answerByPath);
    receive(`GET nonsense HTTP/1.1\r\n\r\n${get('/now')}`);
    const { text } = socket;
    expect(text).toStartWith('HTTP/1.1 400 Bad Request\r\n');
    receive(get('/now').repeat(10));
    expect(socket.text).toBe(text);
  });
});

describe('a client that has disconnected', () => {
  test('while its request is worked on gets nothing, and nothing waits for it', async () => {
    const { handle, answer } = held();
    const { socket, receive, connection, context } = connect(handle);
    receive(get('/') + get('/'));
    connection.gone();
    await answer('late');
    expect(socket.text).toBe('');
    expect({ inFlight: context.inFlight, held: connection.heldBytes }).toEqual({ inFlight: 0, held: 0 });
  });

  test('is known to have left, as is one that sends no more while its request is worked on', () => {
    for (const leave of ['gone', 'ended'] as const) {
      let peer: Peer | undefined;
      const { connection, receive } = connect(request => {
        peer = request.peer;
        return new Promise(() => {});
      });
      receive(get('/'));
      expect(peer?.hasLeft).toBe(false);
      connection[leave]();
      expect(peer?.hasLeft).toBe(true);
    }
  });

  test('has an address that its handler can still ask for', async () => {
    const named = Promise.withResolvers<string>();
    const { receive, connection, socket } = connect(async request => {
      await yieldToEventLoop();
      named.resolve(request.peer.address);
      return saying('');
    });
    receive(get('/'));
    Object.assign(socket, { remoteAddress: undefined });
    connection.gone();
    expect(await named.promise).toBe('127.0.0.1');
  });

  test('in the middle of a body ends the reading of it', async () => {
    let failure: unknown;
    const { receive, connection } = connect(({ body }) =>
      new Response(body)
        .text()
        .catch(error => {
          failure = error;
          return '';
        })
        .then(saying),
    );
    receive(postOf('hello').slice(0, -1));
    connection.gone();
    await yieldToEventLoop();
    expect(String(failure)).toContain('the client disconnected');
  });
});
