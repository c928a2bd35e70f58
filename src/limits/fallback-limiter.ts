/**
 * Keeps limits working while the shared ones cannot be reached: each process then counts on its own. So a failure never
 * rejects a caller that would have been allowed, and never lifts all limits; at worst a caller gets its limit once from
 * each process. Invariant: a caller waits `waitMaxMs` at most, and after a failure no caller waits for `pauseMs`.
 */
import type { Clock } from '../base/clock.ts';
import { withinDeadline } from '../base/deadline.ts';
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

  const late = () => new Error('the shared limits did not answer in time');
  const ask = (spendings: readonly Spending[], now: number): Promise<LimitDecision> =>
    withinDeadline(clock, waitMaxMs, shared.take(spendings, now), late);

  return {
    get alone() {
      return alone;
    },
    async take(spendings, now) {
      if (clock.monotonicMs() >= pausedUntilMs) {
        try {
          return await ask(spendings, now);
        } catch (error) {
          // Of many waiting callers only the first one reports.
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
