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
import type { Clock } from '../base/clock.ts';
import { withinDeadline } from '../base/deadline.ts';
import { type Exchange, SilentDestination } from './exchange.ts';
import { isFailure, type Outcome, type Silence } from './health.ts';
import { isPublicAddress } from './public-address.ts';

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
