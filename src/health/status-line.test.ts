import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { readStatus } from './status-line.ts';

describe('the status of an answer', () => {
  test.each([
    ['HTTP/1.1 200 OK\r\n', 200],
    ['HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\nbody', 404],
    ['HTTP/1.1 204\r\n', 204],
    ['HTTP/1.1 503 \n', 503],
    ['HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 301 Moved\r\n', 301],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\n', 200],
  ])('%j', (text, status) => {
    expect(readStatus(text)).toEqual({ kind: 'status', status });
  });

  test('is the same in whatever pieces it comes', () => {
    const whole = 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 410 Gone\r\n';
    fc.assert(
      fc.property(fc.integer({ min: 0, max: whole.length - 1 }), length => {
        expect(readStatus(whole.slice(0, length))).toEqual({ kind: 'more' });
      }),
    );
    expect(readStatus(whole)).toEqual({ kind: 'status', status: 410 });
  });
});

test.each([
  'SSH-2.0-OpenSSH_9.2\r\n',
  '220 mail.example ESMTP\r\n',
  'HTTP/2 200\r\n',
  'HTTP/1.1 999 Odd\r\n',
  'HTTP/1.1 20 Short\r\n',
  'HTTP/1.1  200 OK\r\n',
  'HTTP/1.1 101 Switching Protocols\r\n\r\n',
  `HTTP/1.1 200 ${'x'.repeat(10_000)}`,
  '\n',
])('%j is no answer', text => {
  expect(readStatus(text)).toEqual({ kind: 'nonsense' });
});

test('nothing that can come throws, or is looked at without end', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary-ascii', maxLength: 300 }), text => void readStatus(text)));
});
