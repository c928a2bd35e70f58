/** How a request's body ends: read, left unread, held back or broken. */
import { describe, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../../base/clock.ts';
import { answerByPath, connect, get, held, ok, postOf } from './fake-connection.ts';
import { saying } from './fake-wire.ts';

describe('a body', () => {
  test('that is not read is skipped, and the next request answered', () => {
    const { socket, receive } = connect(answerByPath);
    const request = postOf('x'.repeat(60_000), '/now');
    receive(request.slice(0, 1_000));
    expect(socket.text).toBe(ok('now'));
    receive(request.slice(1_000, 20_000));
    receive(request.slice(20_000) + get('/next'));
    expect(socket.text).toBe(ok('now') + ok('/next'));
  });

  test('that was not read while it arrived is skipped too', async () => {
    const { handle, answer } = held();
    const { socket, receive } = connect(handle);
    const request = postOf('x'.repeat(130_000));
    receive(request.slice(0, 70_000));
    expect(socket.calls).toEqual(['pause']);
    await answer('first');
    for (let at = 70_000; at < request.length; at += 10_000) receive(request.slice(at, at + 10_000));
    expect(socket.calls).toEqual(['pause', 'resume']);
    receive(get('/'));
    await answer('second');
    expect(socket.text).toBe(ok('first') + ok('second'));
  });

  test('that is not read and of which much is missing ends the connection', () => {
    const { socket, receive } = connect(answerByPath);
    receive(postOf('x'.repeat(70_000), '/now').slice(0, 1_000));
    expect(socket.text).toBe(ok('now', 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('that was held back and never asked for ends the connection', () => {
    const { socket, receive } = connect(answerByPath);
    receive('POST /now HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n');
    expect(socket.text).toBe(ok('now', 'close'));
  });

  test('is asked for after the answers before it', async () => {
    const { socket, receive } = connect(request => {
      if (!(request.body instanceof ReadableStream)) return saying('first');
      return request.body
        .getReader()
        .read()
        .then(() => saying('second'));
    });
    const post = 'POST / HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n';
    receive(get('/') + post);
    await yieldToEventLoop();
    expect(socket.text).toBe(`${ok('first')}HTTP/1.1 100 Continue\r\n\r\n`);
    receive('hello');
    await yieldToEventLoop();
    expect(socket.text).toEndWith(ok('second'));
  });

  test('that is skipped may be followed by nonsense, which is rejected as usual', () => {
    const { socket, receive } = connect(answerByPath);
    receive('POST /now HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n');
    receive(`hello${get('/now').replace('Host', 'Ho st')}`);
    expect(socket.text).toStartWith(`${ok('now')}HTTP/1.1 400 Bad Request\r\n`);
    expect(socket.calls).toEqual(['shutdown']);
  });

  test('in chunks that turn out to be broken while it is read fails its handler, and is the last', async () => {
    const { socket, receive } = connect(({ body }) =>
      new Response(body).text().then(saying, error => saying(error.detail)),
    );
    receive('POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n');
    receive('zz\r\n');
    receive(`0\r\n\r\n${get('/')}`);
    await yieldToEventLoop();
    expect(socket.text).toBe(ok('The body is not made of well-formed chunks.', 'close'));
    expect(socket.calls).toEqual(['shutdown']);
  });
});
