/**
 * Keeps limits working while those that processes share cannot be reached: each process then counts on its own.
 * So a failure never refuses anyone who would have been let through, and never opens the gate to everyone; at
 * worst a caller gets its limit once from each process.
 * Invariant: a caller waits `waitMaxMs` at most, and after a failure nobody waits for `pauseMs`.
 */
import type { Clock } from '../base/clock.ts';
import type { LimitDecision, RateLimiter, Spending } from './rate-limit.ts';

export interface FallbackOptions {
  readonly shared: RateLimiter;
  readonly own: RateLimiter;
  readonly clock: Clock;
  readonly onFailure: (error: unknown) => void;
}

export const waitMaxMs = 2_000;
export const pauseMs = 5_000;

export interface FallbackLimiter extends RateLimiter {
  /** Requests that were decided without the other processes. */
  readonly alone: number;
}

export function createFallbackLimiter({ shared, own, clock, onFailure }: FallbackOptions): FallbackLimiter {
  let alone = 0;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  const ask = (spendings: readonly Spending[], now: number): Promise<LimitDecision> =>
    new Promise((resolve, reject) => {
      const cancel = clock.after(waitMaxMs, () =>
        reject(new Error('the shared limits did not answer in time')),
      );
      shared.take(spendings, now).then(resolve, reject).finally(cancel);
    });

  return {
    get alone() {
      return alone;
    },
    async take(spendings, now) {
      if (clock.monotonicMs() >= pausedUntilMs) {
        try {
          return await ask(spendings, now);
        } catch (error) {
          // Of the many that may be waiting the first one tells.
          if (clock.monotonicMs() >= pausedUntilMs) onFailure(error);
          pausedUntilMs = clock.monotonicMs() + pauseMs;
        }
      }
      alone += 1;
      return own.take(spendings, now);
    },
    async close() {
      await shared.close();
      await own.close();
    },
  };
}
