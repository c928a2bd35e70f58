/**
 * An edge that the operator runs: Varnish, nginx, or anything that accepts a PURGE. Either one request names many codes
 * in `Surrogate-Key`, the header that redirects were cached under (`*` is everything, because no code has that name);
 * or each code is a path of its own, and a code that the edge does not have counts as purged.
 */
import type { Clock } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { type PurgeAddress, urlOfCode } from '../../config/purge-address.ts';
import { answerMaxMs, createExchange, isTaken, PurgeFailed, type Purger } from '../purger.ts';

export interface HookOptions {
  readonly address: Extract<PurgeAddress, { readonly kind: 'keys' | 'paths' }>;
  /** Sent as `Authorization: Bearer`. */
  readonly token: string | undefined;
  readonly clock: Clock;
  readonly maxMs?: number;
}

/** A hundred of the longest codes stay within the 8 KB that servers allow a header by default. */
const codesMax = 100;
const pathsAtOnce = 8;
const everything = '*';

export function createHookPurger({ address, token, clock, maxMs = answerMaxMs }: HookOptions): Purger {
  const exchange = createExchange(clock, maxMs);
  const authorization = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  const { url } = address;
  const name = new URL(urlOfCode(url, '')).host;

  if (address.kind === 'paths') {
    return {
      name,
      codesMax,
      purge: codes =>
        inParallel(codes.length, pathsAtOnce, async index => {
          const answer = await exchange({
            method: 'PURGE',
            url: urlOfCode(url, codes[index]!),
            headers: authorization,
          });
          if (!isTaken(answer) && answer.status !== 404) throw refused(answer.status);
        }),
    };
  }
  const purge = async (codes: readonly string[]): Promise<void> => {
    const headers = { ...authorization, 'Surrogate-Key': codes.join(' ') };
    const answer = await exchange({ method: 'PURGE', url, headers });
    if (!isTaken(answer)) throw refused(answer.status);
  };
  return { name, codesMax, purge, purgeAll: () => purge([everything]) };
}

const refused = (status: number): PurgeFailed => new PurgeFailed(`the edge answered a purge with ${status}`);
