/**
 * The work nobody waits for: purging what expired long ago, forgetting old idempotency records, changes and routine
 * entries of the audit trail.
 * Small bites, one after the other while there is more, in every process; doing a bite twice is harmless.
 */
import { type Clock, letOthersRun } from '../base/clock.ts';
import { idempotencyWindowMs } from '../links/idempotency.ts';
import type { LinkStore } from '../links/store.ts';
import type { AuditLog } from '../moderation/audit.ts';
import { type Tracer, traced } from '../ops/tracing/tracer.ts';

export interface MaintenanceOptions {
  readonly store: Pick<LinkStore, 'purgeExpired' | 'prune'>;
  readonly audit: Pick<AuditLog, 'forget'>;
  readonly clock: Clock;
  readonly expiryGraceDays: number;
  readonly auditDays: number;
  readonly onError: (error: unknown) => void;
  /** Undefined where nobody collects traces. */
  readonly tracer?: Tracer | undefined;
}

const periodMs = 5_000;
const bitesMax = 500;
/** A round that finds more than this allows goes on in the next: the writer has other things to do. */
const roundMaxMs = 2_000;
const dayMs = 24 * 60 * 60 * 1_000;
/** A process that has not looked for this long drops its cache instead of reading what it missed. */
const changesKeptMs = 10 * 60 * 1_000;

/** Returns the function that stops it, and ends when the bite in progress is done. */
export function startMaintenance({
  store,
  audit,
  clock,
  expiryGraceDays,
  auditDays,
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
      () => audit.forget(now - auditDays * dayMs, bitesMax),
    ];
    while (due.length > 0) {
      const full: typeof due = [];
      for (const bite of due) if (!stopped && (await bite()) >= bitesMax) full.push(bite);
      await letOthersRun();
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
