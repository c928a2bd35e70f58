/**
 * One request over one connection to one address. The name is only said: as Host, and to whoever shows a certificate,
 * which must be good for it. The connection is dropped as soon as the status is known.
 */
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { Silence } from './health.ts';
import { readStatus } from './status-line.ts';

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
  /** Who asks, and where to read about it; goes to every destination. */
  readonly userAgent: string;
  /** Certificates to trust beside the system's, for tests. */
  readonly ca?: string;
}

/** No answer needs as much before its status. */
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
    // A certificate is for the name, and never for the address that the name has today.
    ...(isName && { servername: url.hostname }),
    ...(ca !== undefined && { ca }),
  });
}

/** A parsed URL has no character that could end a line. */
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
