/**
 * Background work: purging links that expired long ago, and deleting old idempotency records, changes and
 * expired records.
 * Small batches, one after the other while there is more, in every process; doing a batch twice is harmless.
 */
import { type Clock, yieldToEventLoop } from '../base/clock.ts';
import type { RecordStore } from '../records/record-store.ts';
import { type Tracer, traced } from '../telemetry/tracing/tracer.ts';
import { idempotencyWindowMs } from './create.ts';
import type { LinkStore } from './store.ts';

export interface MaintenanceOptions {
  readonly store: Pick<LinkStore, 'purgeExpired' | 'prune'>;
  readonly records: Pick<RecordStore, 'removeExpired'>;
  readonly clock: Clock;
  readonly expiryGraceDays: number;
  readonly onError: (error: unknown) => void;
  /** Undefined where traces are not collected. */
  readonly tracer?: Tracer | undefined;
}

const periodMs = 5_000;
const bitesMax = 500;
/** A round that finds more than this continues in the next: the writer has other work. */
const roundMaxMs = 2_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** A process that has not read for this long drops its cache instead of reading what it missed. */
const changesKeptMs = 10 * 60 * 1_000;

/** Returns the function that stops it, which resolves when the batch in progress is done. */
export function startMaintenance({
  store,
  records,
  clock,
  expiryGraceDays,
  onError,
  tracer,
}: MaintenanceOptions): () => Promise<void> {
  let running: Promise<void> | undefined;
  let stopped = false;
  const tick = async (): Promise<void> => {
    const now = clock.now();
    const endMs = clock.monotonicMs() + roundMaxMs;
    const age = { answersBefore: now - idempotencyWindowMs, changesBefore: now - changesKeptMs };
    let due: (() => Promise<number>)[] = [
      () => store.purgeExpired(now - expiryGraceDays * dayMs, bitesMax),
      () => store.prune(age, bitesMax),
      () => records.removeExpired(bitesMax),
    ];
    while (due.length > 0) {
      const full: typeof due = [];
      for (const bite of due) if (!stopped && (await bite()) >= bitesMax) full.push(bite);
      await yieldToEventLoop();
      due = stopped || clock.monotonicMs() >= endMs ? [] : full;
    }
  };
  const cancel = clock.every(periodMs, () => {
    running ??= traced(tracer, 'maintenance', {}, tick)
      .catch(onError)
      .finally(() => {
        running = undefined;
      });
  });
  return async () => {
    stopped = true;
    cancel();
    await running;
  };
}
