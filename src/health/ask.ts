/**
 * Requests the status of a destination, with as little traffic as possible and only where it is safe:
 *
 *   resolve the name → refuse it unless every address is public → connect to one of those addresses, not to the name →
 *   HEAD, and GET where HEAD is not understood → the status, and nothing behind it
 *
 * The address that was checked is the address that is connected to, so a name that resolves differently a moment later
 * (DNS rebinding) gains nothing. No redirect is followed, no response body is read, and everything has to fit into two
 * seconds.
 */

import { isIPv4, isIPv6 } from 'node:net';
import type { Clock } from '../base/clock.ts';
import { withinDeadline } from '../base/deadline.ts';
import { type Exchange, SilentDestination } from './exchange.ts';
import { isFailure, type Outcome, type Silence } from './health.ts';

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
    if (addresses.length === 0) throw new SilentDestination('no_such_name');
    // One non-public address among others is an attack or a mistake; both are refused.
    if (!addresses.every(mayConnectTo)) throw new SilentDestination('not_public');
    return addresses.find(address => !address.includes(':')) ?? addresses[0]!;
  };

  const once = async (url: URL, method: 'HEAD' | 'GET'): Promise<Outcome> => {
    const ending = new AbortController();
    const work = addressOf(url.hostname)
      .catch(error => {
        throw error instanceof SilentDestination ? error : new SilentDestination('no_such_name');
      })
      .then(address => exchange({ url, address, method, signal: ending.signal }));
    try {
      const tooSlow = () => new SilentDestination('too_slow');
      return { kind: 'answered', status: await withinDeadline(clock, askMaxMs, work, tooSlow) };
    } catch (error) {
      return { kind: 'silent', reason: reasonOf(error) };
    } finally {
      ending.abort();
    }
  };

  return async longUrl => {
    const url = URL.parse(longUrl);
    if (url === null || !/^https?:$/.test(url.protocol)) return { kind: 'silent', reason: 'no_http' };
    const outcome = await once(url, 'HEAD');
    return misunderstands(outcome) ? once(url, 'GET') : outcome;
  };
}

const reasonOf = (error: unknown): Silence =>
  error instanceof SilentDestination ? error.reason : 'no_connection';

/**
 * Which addresses of the Internet a check may connect to. Everything else is a private network, and may be ours: a
 * database, a metadata service, a router. So this lists the public ranges and refuses the rest, including IPv4
 * addresses embedded in IPv6 ones.
 */

/** IPv4 ranges that are not public: first address and length of the prefix. */
const privateIpv4 = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
] as const;

/** The parts of 2000::/3, public IPv6, that are not public: protocols and tunnels, documentation, 6to4. */
const privateIpv6 = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
] as const;

export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublicIpv4(bytesOfIpv4(address));
  if (!isIPv6(address) || address.includes('%')) return false;
  const bytes = bytesOfIpv6(address);
  // Where there is only IPv6, this is how the names of IPv4 hosts resolve (NAT64).
  if (startsWith(bytes, bytesOfIpv6('64:ff9b::'), 96)) return isPublicIpv4(bytes.slice(12));
  if (!startsWith(bytes, bytesOfIpv6('2000::'), 3)) return false;
  return !privateIpv6.some(([first, length]) => startsWith(bytes, bytesOfIpv6(first), length));
}

function isPublicIpv4(bytes: readonly number[]): boolean {
  return !privateIpv4.some(([first, length]) => startsWith(bytes, bytesOfIpv4(first), length));
}

function startsWith(bytes: readonly number[], prefix: readonly number[], length: number): boolean {
  const whole = length >> 3;
  for (let index = 0; index < whole; index += 1) if (bytes[index] !== prefix[index]) return false;
  const rest = length & 7;
  if (rest === 0) return true;
  return bytes[whole]! >> (8 - rest) === prefix[whole]! >> (8 - rest);
}

const bytesOfIpv4 = (address: string): number[] => address.split('.').map(Number);

/** For a valid address. */
function bytesOfIpv6(address: string): number[] {
  const [head = '', tail] = address.split('::');
  const before = groupsOf(head);
  const after = tail === undefined ? [] : groupsOf(tail);
  const gap = Array.from({ length: 16 - before.length - after.length }, () => 0);
  return [...before, ...gap, ...after];
}

function groupsOf(text: string): number[] {
  if (text === '') return [];
  return text.split(':').flatMap(group => {
    if (group.includes('.')) return bytesOfIpv4(group);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}
