/**
 * The arithmetic of token buckets, without any storage, so that every driver decides alike. A bucket is kept as
 * what was spent of it and when that was true; a full one needs no keeping at all.
 * Invariant: all amounts are whole numbers. One token is `periodMs` grains and `count` grains come back each
 * millisecond, so nothing is rounded, nothing drifts, and the wait that is told is exact to the millisecond.
 */
import type { Rate } from './plans.ts';
import type { LimitDecision, Spending } from './rate-limit.ts';

export interface BucketLevel {
  readonly spentGrains: number;
  /** When that was so, in milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Processes of one machine read one clock but not at once, so a level may be a little ahead of "now" and simply
 * stays. One that is further ahead was written before the clock was set back: it counts from now.
 */
export const aheadMaxMs = 10_000;

/** Takes from all buckets or from none. `after` has the levels to keep, or nothing when nothing was taken. */
export function takeFromAll(
  spendings: readonly Spending[],
  kept: readonly (BucketLevel | undefined)[],
  now: number,
): { readonly decision: LimitDecision; readonly after: readonly BucketLevel[] | undefined } {
  const levels = spendings.map((spending, index) => levelAt(kept[index], spending, now));
  const waits = spendings.map((spending, index) => waitMs(levels[index]!, spending, now));
  const retryAfterMs = Math.max(0, ...waits);
  const allowed = retryAfterMs === 0;
  const after = levels.map(({ spentGrains, at }, index) => {
    const { cost, rate } = spendings[index]!;
    return { spentGrains: spentGrains + (allowed ? cost * rate.periodMs : 0), at };
  });
  const buckets = spendings.map(({ capacity, rate }, index) => ({
    limit: capacity,
    remaining: capacity - Math.ceil(after[index]!.spentGrains / rate.periodMs),
    waitMs: waits[index]!,
    fullAfterMs: Math.max(0, fullAt(after[index]!, rate) - now),
  }));
  const hasSpent = allowed && spendings.some(({ cost }) => cost > 0);
  return { decision: { allowed, retryAfterMs, buckets }, after: hasSpent ? after : undefined };
}

/** From when on the bucket is full, which is when it can be forgotten. */
export function fullAt({ spentGrains, at }: BucketLevel, { count }: Rate): number {
  return at + Math.ceil(spentGrains / count);
}

function levelAt(kept: BucketLevel | undefined, { rate, capacity }: Spending, now: number): BucketLevel {
  if (kept === undefined) return { spentGrains: 0, at: now };
  // A limit that was lowered since leaves the bucket empty, not in debt.
  const spentGrains = Math.min(kept.spentGrains, capacity * rate.periodMs);
  const elapsedMs = now - kept.at;
  if (elapsedMs < -aheadMaxMs) return { spentGrains, at: now };
  if (elapsedMs <= 0) return { spentGrains, at: kept.at };
  return { spentGrains: Math.max(0, spentGrains - elapsedMs * rate.count), at: now };
}

/** Infinite when the bucket is too small ever to give that much. */
function waitMs({ spentGrains, at }: BucketLevel, { cost, capacity, rate }: Spending, now: number): number {
  if (cost > capacity) return Number.POSITIVE_INFINITY;
  const missingGrains = spentGrains + (cost - capacity) * rate.periodMs;
  return missingGrains <= 0 ? 0 : at - now + Math.ceil(missingGrains / rate.count);
}
