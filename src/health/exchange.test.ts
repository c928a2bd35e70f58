/** Against real sockets on this machine: what goes over the wire, and how the response is interpreted. */

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { createExchange, NoAnswer, readStatus } from './ask.ts';
import type { NoAnswerReason } from './health.ts';

const folder = mkdtempSync(join(tmpdir(), 'terse-exchange-'));
const stops: (() => void)[] = [];
afterAll(() => {
  for (const stop of stops) stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A server that takes one request and sends the given bytes. */
function serverThat(
  says: string | readonly string[],
  options: { readonly tls?: { key: string; cert: string }; readonly hangsUp?: boolean } = {},
) {
  const received: string[] = [];
  const server = Bun.listen({
    hostname: '127.0.0.1',
    port: 0,
    ...(options.tls && { tls: options.tls }),
    socket: {
      async data(socket, bytes) {
        received.push(bytes.toString());
        for (const part of [says].flat()) {
          socket.write(part);
          await Bun.sleep(5);
        }
        if (options.hangsUp) socket.end();
      },
    },
  });
  stops.push(() => server.stop(true));
  return { port: server.port, received };
}

interface Question {
  readonly port: number;
  readonly scheme?: 'http' | 'https';
  readonly host?: string;
  readonly path?: string;
  readonly ca?: string;
  readonly signal?: AbortSignal;
}

async function exchanged({ port, scheme = 'http', host = 'shop.example', path = '/', ca, signal }: Question) {
  const exchange = createExchange({ userAgent: 'Terse/test', ...(ca !== undefined && { ca }) });
  try {
    return await exchange({
      url: new URL(`${scheme}://${host}:${port}${path}`),
      address: '127.0.0.1',
      method: 'HEAD',
      signal: signal ?? AbortSignal.timeout(10_000),
    });
  } catch (error) {
    if (error instanceof NoAnswer) return error.reason;
    throw error;
  }
}

describe('a request', () => {
  test('sends the host name and a user agent, and never the fragment', async () => {
    const { port, received } = serverThat('HTTP/1.1 200 OK\r\n\r\n');
    expect(await exchanged({ port, path: '/a b?q=\u{1f600}#secret' })).toBe(200);
    expect(received).toEqual([
      `HEAD /a%20b?q=%F0%9F%98%80 HTTP/1.1\r\nHost: shop.example:${port}\r\nUser-Agent: Terse/test\r\n` +
        'Accept: */*\r\nConnection: close\r\n\r\n',
    ]);
  });

  test('reads the status from fragments, after early hints, and does not wait for the rest', async () => {
    const { port } = serverThat([
      'HTTP/1.1 103 Early Hints\r\n\r',
      '\nHTTP/1.',
      '1 301 Moved\r\nLocation: http',
      ': …',
    ]);
    expect(await exchanged({ port })).toBe(301);
  });
});

describe('no response', () => {
  const cases: [string, NoAnswerReason, string | readonly string[], boolean][] = [
    ['another protocol', 'no_http', 'SSH-2.0-OpenSSH_9.2\r\n', false],
    ['an end before an answer', 'no_http', '', true],
    ['half a line and an end', 'no_http', 'HTTP/1.1 2', true],
    ['hints without end', 'no_http', `HTTP/1.1 103 Early Hints\r\n${'a: b\r\n'.repeat(50_000)}`, false],
  ];
  test.each(cases)('%s is %s', async (_what, reason, says, hangsUp) => {
    const { port } = serverThat(says, { hangsUp });
    expect(await exchanged({ port })).toBe(reason);
  });

  test('a port without a listener is a connection failure', async () => {
    const { port } = serverThat('');
    stops.pop()?.();
    expect(await exchanged({ port })).toBe('no_connection');
  });

  test('a server that never answers is abandoned on abort', async () => {
    const { port } = serverThat('HTTP/1.1 103 Early Hints\r\n\r\n');
    expect(await exchanged({ port, signal: AbortSignal.timeout(50) })).toBe('too_slow');
  });
});

describe('TLS', () => {
  const made = (name: string): { key: string; cert: string } => {
    const [key, cert] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)];
    const { exitCode, stderr } = Bun.spawnSync([
      ...['openssl', 'req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
      ...['-keyout', key, '-out', cert, '-days', '2', '-subj', `/CN=${name}`],
      ...['-addext', `subjectAltName=DNS:${name}`],
    ]);
    if (exitCode !== 0) throw new Error(stderr.toString());
    return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
  };
  const shop = made('shop.example');
  const answer = 'HTTP/1.1 200 OK\r\n\r\n';

  test('the certificate must be valid for the name, whatever address was connected to', async () => {
    const { port } = serverThat(answer, { tls: shop });
    expect(await exchanged({ port, scheme: 'https', ca: shop.cert })).toBe(200);
    expect(await exchanged({ port, scheme: 'https', ca: shop.cert, host: 'other.example' })).toBe(
      'bad_certificate',
    );
  });

  test('the certificate must be signed by a trusted CA, or no request is sent', async () => {
    const { port, received } = serverThat(answer, { tls: shop });
    expect(await exchanged({ port, scheme: 'https' })).toBe('bad_certificate');
    expect(received).toEqual([]);
  });

  test('a server that does not speak TLS is a connection failure', async () => {
    const { port } = serverThat('HTTP/1.1 400 Bad Request\r\n\r\n', { hangsUp: true });
    expect(await exchanged({ port, scheme: 'https' })).toBeOneOf([
      'no_connection',
      'bad_certificate',
      'no_http',
    ]);
  });
});

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

  test('is the same however it is fragmented', () => {
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
])('%j is not an answer', text => {
  expect(readStatus(text)).toEqual({ kind: 'nonsense' });
});

test('no input throws, or is parsed without a bound', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary-ascii', maxLength: 300 }), text => void readStatus(text)));
});
