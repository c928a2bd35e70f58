/**
 * Limits that all processes of one data folder share. A thread works on the buckets, and the first limited request
 * starts it: a server that only its operator uses never has one.
 */
import { systemClock } from '../../../base/clock.ts';
import { endsWithin } from '../../../base/deadline.ts';
import { lazyThread } from '../../../base/supervised-thread.ts';
import type { LimitDecision, RateLimiter, Spending } from '../../rate-limit.ts';

const closeMaxMs = 1_000;

/** The calls that the thread answers. */
export type LimitThreadFunctions = {
  take(spendings: readonly Spending[], now: number): LimitDecision;
  close(): void;
};

/** Starts a thread that answers `LimitThreadFunctions`. */
export type StartLimitThread = () => Worker;

export function createSqliteLimiter(startThread: StartLimitThread): RateLimiter {
  const thread = lazyThread<LimitThreadFunctions>('the limit thread', startThread);
  return {
    take: (spendings, now) => thread.caller.call('take', spendings, now),
    async close() {
      if (!thread.isRunning) return;
      const closed = thread.caller.call('close').catch(() => undefined);
      // A thread that is blocked by another process need not be awaited: it has nothing to save.
      await endsWithin(systemClock, closeMaxMs, closed);
      thread.terminate();
    },
  };
}
