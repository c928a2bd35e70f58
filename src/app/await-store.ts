/**
 * The start of a store that is a server of its own. Where everything starts with the machine it may come later than
 * Terse does, so it is waited for: by a server for as long as it takes, because it can say meanwhile what it waits for
 * (waiting-room.ts), by everyone else for half a minute. What waiting cannot mend, such as a wrong password, fails at
 * once. Either way the failure is one line that says where and why.
 */
import { type Clock, sleep, stayAlive } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Log } from '../ops/log.ts';

/** How whoever opens a store waits for it. */
export interface Patience {
  readonly waitMaxMs?: number;
  /** The store did not answer at the first attempt. */
  readonly onAway?: () => void;
  /** Whether nobody waits any more. */
  readonly isGivenUp?: () => boolean;
}

export interface AwaitStoreOptions extends Patience {
  /** Such as `Postgres at db.example/terse`; names no secret. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log | undefined;
  /** Whether trying again is of no use. */
  readonly isHopeless?: (error: unknown) => boolean;
}

const waitMaxMsDefault = 30_000;
const pauseMinMs = 100;
const pauseMaxMs = 2_000;
/** Whoever waits for hours need not say so every other second. */
const tellEveryMs = 30_000;

/** `open` may be called many times. */
export async function awaitStore<Result>(
  open: () => Promise<Result>,
  { name, clock, random, log, isHopeless = () => false, waitMaxMs, onAway, isGivenUp }: AwaitStoreOptions,
): Promise<Result> {
  // Nothing else may be there yet for which the process would go on.
  const letGo = stayAlive();
  const startedMs = clock.monotonicMs();
  const endMs = startedMs + (waitMaxMs ?? waitMaxMsDefault);
  let told: { readonly reason: string; readonly atMs: number } | undefined;
  try {
    for (let pauseMs = pauseMinMs; ; pauseMs = Math.min(pauseMaxMs, pauseMs * 2)) {
      try {
        const opened = await open();
        const waitedS = Math.round((clock.monotonicMs() - startedMs) / 1_000);
        if (told !== undefined) log?.info('the store is there', { store: name, waitedS });
        return opened;
      } catch (error) {
        const nowMs = clock.monotonicMs();
        const reason = reasonOf(error);
        const isAway = error instanceof Problem && error.code === 'store_unavailable' && !isHopeless(error);
        if (!isAway || nowMs + pauseMs > endMs || isGivenUp?.() === true) {
          throw new Error(`${name} cannot be used: ${reason}`, { cause: error });
        }
        if (told === undefined) onAway?.();
        if (told?.reason !== reason || nowMs - told.atMs >= tellEveryMs) {
          told = { reason, atMs: nowMs };
          log?.warn('waiting for the store', { store: name, reason });
        }
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
