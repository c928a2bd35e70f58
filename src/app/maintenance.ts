/**
 * The work nobody waits for: purging what expired long ago, forgetting old idempotency records and changes.
 * Small bites at a low rate, in every process; doing a bite twice is harmless.
 */
import type { Clock } from '../base/clock.ts';
import { idempotencyWindowMs } from '../links/idempotency.ts';
import type { LinkStore } from '../links/store.ts';

export interface MaintenanceOptions {
  readonly store: Pick<LinkStore, 'purgeExpired' | 'prune'>;
  readonly clock: Clock;
  readonly expiryGraceDays: number;
  readonly onError: (error: unknown) => void;
}

const periodMs = 5_000;
const bitesMax = 500;
const dayMs = 24 * 60 * 60 * 1_000;
/** A process that has not looked for this long drops its cache instead of reading what it missed. */
const changesKeptMs = 10 * 60 * 1_000;

/** Returns the function that stops it. */
export function startMaintenance({ store, clock, expiryGraceDays, onError }: MaintenanceOptions): () => void {
  let running = false;
  const tick = async (): Promise<void> => {
    const now = clock.now();
    await store.purgeExpired(now - expiryGraceDays * dayMs, bitesMax);
    await store.prune(
      { answersBefore: now - idempotencyWindowMs, changesBefore: now - changesKeptMs },
      bitesMax,
    );
  };
  return clock.every(periodMs, () => {
    if (running) return;
    running = true;
    tick()
      .catch(onError)
      .finally(() => {
        running = false;
      });
  });
}
