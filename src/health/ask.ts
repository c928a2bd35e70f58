/**
 * Asks a destination for its status, as little as that takes and no further than is safe:
 *
 *   resolve the name → refuse it unless every address is public → connect to one of those addresses, not to the name →
 *   HEAD, and GET where HEAD is not understood → the status, and nothing behind it
 *
 * The address that was judged is the address that is connected to, so a name that resolves differently a moment later
 * gains nothing. No redirect is followed, nothing of the answer's body is read, and all of it has two seconds.
 */
import type { Clock } from '../base/clock.ts';
import { type Exchange, SilentDestination } from './exchange.ts';
import { isFailure, type Outcome, type Silence } from './health.ts';
import { isPublicAddress } from './public-address.ts';

export interface AskOptions {
  /** All addresses of a name. */
  readonly resolve: (host: string) => Promise<readonly string[]>;
  readonly exchange: Exchange;
  readonly clock: Clock;
  /** Public ones only, unless a test says otherwise. */
  readonly mayConnectTo?: (address: string) => boolean;
}

const askMaxMs = 2_000;
/** A check is no way to knock at other doors of a host. */
export const askedPorts: ReadonlySet<string> = new Set(['', '80', '443', '8080', '8443']);
/** What servers say to a HEAD that they would not say to a GET. */
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
    // One that is not public among others is a trap or a mistake, and both are to be left alone.
    if (!addresses.every(mayConnectTo)) throw new SilentDestination('not_public');
    return addresses.find(address => !address.includes(':')) ?? addresses[0]!;
  };

  const once = async (url: URL, method: 'HEAD' | 'GET'): Promise<Outcome> => {
    const ending = new AbortController();
    const tooSlow = Promise.withResolvers<never>();
    const cancel = clock.after(askMaxMs, () => tooSlow.reject(new SilentDestination('too_slow')));
    const work = addressOf(url.hostname)
      .catch(error => {
        throw error instanceof SilentDestination ? error : new SilentDestination('no_such_name');
      })
      .then(address => exchange({ url, address, method, signal: ending.signal }));
    try {
      return { kind: 'answered', status: await Promise.race([work, tooSlow.promise]) };
    } catch (error) {
      return { kind: 'silent', reason: reasonOf(error) };
    } finally {
      cancel();
      ending.abort();
      work.catch(() => undefined);
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
