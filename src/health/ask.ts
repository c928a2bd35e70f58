/**
 * Requests the status of a destination, with as little traffic as possible and only where it is safe:
 *
 *   resolve the name → refuse it unless every address is public → connect to one of those addresses, not to the name →
 *   HEAD, and GET where HEAD is not understood → the status, and nothing behind it
 *
 * The address that was checked is the address that is connected to, so a name that resolves differently a moment later
 * (DNS rebinding) gains nothing. No redirect is followed, no response body is read, and everything must finish within
 * two seconds.
 */
import { connect, isIPv4, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { createTrust } from '../base/addresses.ts';
import type { Clock } from '../base/clock.ts';
import { withinDeadline } from '../base/deadline.ts';
import { isFailure, type NoAnswerReason, type Outcome } from './health.ts';

export interface AskOptions {
  /** All addresses of a name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly exchange: Exchange;
  readonly clock: Clock;
  /** Only public addresses, unless a test allows others. */
  readonly mayConnectTo?: (address: string) => boolean;
}

const askMaxMs = 2_000;
/** A check must not be usable to probe other ports of a host. */
export const askedPorts: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443']);
/** Statuses that servers give to a HEAD but might not give to a GET. */
const misunderstands = (outcome: Outcome): boolean =>
  outcome.kind === 'answered'
    ? isFailure(outcome) || outcome.status === 405 || outcome.status === 403
    : outcome.reason === 'no_http';

export type Ask = (longUrl: string) => Promise<Outcome>;

export function createAsk({ resolve, exchange, clock, mayConnectTo = isPublicAddress }: AskOptions): Ask {
  const addressOf = async (hostname: string): Promise<string> => {
    const literal = /^\[(.+)\]$/.exec(hostname)?.[1] ?? (/^[\d.]+$/.test(hostname) ? hostname : undefined);
    const addresses = literal === undefined ? await resolve(hostname) : [literal];
    if (addresses.length === 0) throw new NoAnswer('no_such_name');
    // One non-public address among others is an attack or a mistake; both are refused.
    if (!addresses.every(mayConnectTo)) throw new NoAnswer('not_public');
    return addresses.find(address => !address.includes(':')) ?? addresses[0]!;
  };

  const once = async (url: URL, method: 'HEAD' | 'GET'): Promise<Outcome> => {
    const ending = new AbortController();
    const work = addressOf(url.hostname)
      .catch(error => {
        throw error instanceof NoAnswer ? error : new NoAnswer('no_such_name');
      })
      .then(address => exchange({ url, address, method, signal: ending.signal }));
    try {
      const tooSlow = () => new NoAnswer('too_slow');
      return { kind: 'answered', status: await withinDeadline(clock, askMaxMs, work, tooSlow) };
    } catch (error) {
      return { kind: 'unanswered', reason: reasonOf(error) };
    } finally {
      ending.abort();
    }
  };

  return async longUrl => {
    const url = URL.parse(longUrl);
    if (url === null || !/^https?:$/.test(url.protocol)) return { kind: 'unanswered', reason: 'no_http' };
    const outcome = await once(url, 'HEAD');
    return misunderstands(outcome) ? once(url, 'GET') : outcome;
  };
}

const reasonOf = (error: unknown): NoAnswerReason =>
  error instanceof NoAnswer ? error.reason : 'no_connection';

/**
 * Which addresses of the Internet a check may connect to. Everything else is a private network, and may be ours: a
 * database, a metadata service, a router. So this lists the public ranges and refuses the rest, including IPv4
 * addresses embedded in IPv6 ones.
 */
const privateIpv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
];
/** Where there is only IPv6, the names of IPv4 hosts resolve to addresses in this range (NAT64). */
const translated = '64:ff9b::';
/** The parts of 2000::/3, public IPv6, that are not public: protocols and tunnels, documentation, 6to4. */
const privateIpv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const isAssigned = createTrust(['2000::/3', `${translated}/96`]);
const isPrivate = createTrust([
  ...privateIpv4,
  ...privateIpv6,
  ...privateIpv4.map(range => {
    const [first, bits] = range.split('/');
    return `${translated}${first}/${96 + Number(bits)}`;
  }),
]);

export const isPublicAddress = (address: string): boolean =>
  (isIPv4(address) || (isAssigned(address) && !address.includes('%'))) && !isPrivate(address);

/**
 * One request over one connection to one address. The name is only sent: as Host, and as the name that the server's
 * certificate must be valid for. The connection is closed as soon as the status is known.
 */
export interface ExchangeRequest {
  readonly url: URL;
  readonly address: string;
  readonly method: 'HEAD' | 'GET';
  readonly signal: AbortSignal;
}

/** Resolves to the status, or throws a `NoAnswer`. */
export type Exchange = (request: ExchangeRequest) => Promise<number>;

export class NoAnswer extends Error {
  override readonly name = 'NoAnswer';
  readonly reason: NoAnswerReason;

  constructor(reason: NoAnswerReason) {
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
      const fail = (reason: NoAnswerReason): void => end(() => reject(new NoAnswer(reason)));
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
