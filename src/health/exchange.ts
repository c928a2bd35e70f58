/**
 * One request over one connection to one address. The name is only sent: as Host, and as the name that the server's
 * certificate must be valid for. The connection is closed as soon as the status is known.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Silence } from './health.ts';

export interface ExchangeRequest {
  readonly url: URL;
  readonly address: string;
  readonly method: 'HEAD' | 'GET';
  readonly signal: AbortSignal;
}

/** Resolves to the status, or throws a `SilentDestination`. */
export type Exchange = (request: ExchangeRequest) => Promise<number>;

export class SilentDestination extends Error {
  override readonly name = 'SilentDestination';
  readonly reason: Silence;

  constructor(reason: Silence) {
    super(reason);
    this.reason = reason;
  }
}

export interface ExchangeOptions {
  /** The user agent, with a link to its documentation; sent to every destination. */
  readonly userAgent: string;
  /** Certificates to trust in addition to the system's, for tests. */
  readonly ca?: string;
}

/** No response has this many bytes before its status. */
const readBytesMax = 256 * 1024;

export function createExchange({ userAgent, ca }: ExchangeOptions): Exchange {
  return ({ url, address, method, signal }) =>
    new Promise((resolve, reject) => {
      const socket = open(url, address, ca);
      let received = '';
      const end = (settle: () => void): void => {
        signal.removeEventListener('abort', onAbort);
        socket.destroy();
        settle();
      };
      const fail = (reason: Silence): void => end(() => reject(new SilentDestination(reason)));
      const onAbort = (): void => fail('too_slow');
      signal.addEventListener('abort', onAbort);
      socket.on(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        socket.write(requestText(url, method, userAgent));
      });
      socket.on('data', (chunk: Buffer) => {
        received += chunk.toString('latin1');
        const reading = received.length > readBytesMax ? { kind: 'nonsense' as const } : readStatus(received);
        if (reading.kind === 'status') end(() => resolve(reading.status));
        else if (reading.kind === 'nonsense') fail('no_http');
      });
      socket.on('error', error => fail(isAboutCertificate(error) ? 'bad_certificate' : 'no_connection'));
      socket.on('end', () => fail('no_http'));
      socket.on('close', () => fail('no_connection'));
    });
}

function open(url: URL, address: string, ca: string | undefined): Socket {
  if (url.protocol === 'http:') return connect({ host: address, port: Number(url.port) || 80 });
  const isName = !/^\[|^[\d.]+$/.test(url.hostname);
  return connectTls({
    host: address,
    port: Number(url.port) || 443,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized: true,
    // The certificate must be valid for the name, never for the address that the name has today.
    ...(isName && { servername: url.hostname }),
    ...(ca !== undefined && { ca }),
  });
}

/** A parsed URL has no character that could end a header line. */
function requestText({ pathname, search, host }: URL, method: string, userAgent: string): string {
  const lines = [
    `${method} ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    `User-Agent: ${userAgent}`,
    'Accept: */*',
    'Connection: close',
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const isAboutCertificate = (error: Error): boolean =>
  /^(?:ERR_TLS|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|ERR_SSL|HOSTNAME)/.test(
    (error as { code?: string }).code ?? '',
  );

/**
 * The status from the first bytes of a response, which is all that a check needs. Interim responses before the final
 * one (100 Continue, 103 Early Hints) are skipped.
 */
export type Reading =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'more' }
  | { readonly kind: 'nonsense' };

const statusLine = /^HTTP\/1\.[01] ([1-5]\d\d)(?: [^\r\n]*)?\r?\n/;
/** A longer status line is invalid. */
const lineCharactersMax = 8_192;

/** Parses all bytes received so far, one character per byte. */
export function readStatus(text: string): Reading {
  const line = statusLine.exec(text);
  if (line === null) {
    const couldBe = 'HTTP/1.'.startsWith(text.slice(0, 7)) && !text.includes('\n');
    return { kind: couldBe && text.length < lineCharactersMax ? 'more' : 'nonsense' };
  }
  const status = Number(line[1]);
  if (status >= 200) return { kind: 'status', status };
  // Another protocol takes over after this one.
  if (status === 101) return { kind: 'nonsense' };
  const end = /\r?\n\r?\n/.exec(text);
  return end === null ? { kind: 'more' } : readStatus(text.slice(end.index + end[0].length));
}
