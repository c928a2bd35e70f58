/**
 * The start of a store that is a server of its own. Where everything starts with the machine it may come later than
 * Terse does, so it is waited for, but not for ever: whoever watches over Terse should see it fail. What waiting cannot
 * mend, such as a wrong password, fails at once. Either way the failure is one line that says where and why.
 */
import { type Clock, sleep, stayAlive } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Log } from '../ops/log.ts';

export interface AwaitStoreOptions {
  /** Such as `Postgres at db.example/terse`; names no secret. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Whether trying again is of no use. */
  readonly isHopeless?: (error: unknown) => boolean;
  readonly waitMaxMs?: number;
}

const waitMaxMsDefault = 30_000;
const pauseMinMs = 100;
const pauseMaxMs = 2_000;

/** `open` may be called many times. */
export async function awaitStore<Result>(
  open: () => Promise<Result>,
  { name, clock, random, log, isHopeless = () => false, waitMaxMs = waitMaxMsDefault }: AwaitStoreOptions,
): Promise<Result> {
  // Nothing else may be there yet for which the process would go on.
  const letGo = stayAlive();
  const endMs = clock.monotonicMs() + waitMaxMs;
  try {
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMaxMs, pauseMs * 2)) {
      try {
        return await open();
      } catch (error) {
        const isAway = error instanceof Problem && error.code === 'store_unavailable' && !isHopeless(error);
        if (!isAway || clock.monotonicMs() + pauseMs > endMs) {
          throw new Error(`${name} cannot be used: ${reasonOf(error)}`, { cause: error });
        }
        log?.warn('waiting for the store', { store: name, reason: reasonOf(error) });
        await sleep(clock, pauseMs * (0.5 + random.float() / 2));
      }
    }
  } finally {
    letGo();
  }
}

/** What the innermost cause says that says anything. */
function reasonOf(error: unknown, causesMax = 5): string {
  if (!(error instanceof Error)) return String(error);
  const inner = error.cause === undefined || causesMax === 0 ? '' : reasonOf(error.cause, causesMax - 1);
  return inner === '' ? error.message : inner;
}
