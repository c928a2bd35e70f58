/**
 * The arithmetic of token buckets, without any storage, so that every driver decides the same. A bucket is stored as
 * the amount spent and the time of that state; a full one need not be stored.
 * Invariant: all amounts are whole numbers. One token is `periodMs` grains and `count` grains come back each
 * millisecond, so nothing is rounded, nothing drifts, and the reported wait is exact to the millisecond.
 */

import { createHmac } from 'node:crypto';
import type { Rate } from './plans.ts';
import type { LimitDecision, RateLimiter, Spending } from './rate-limit.ts';

export interface BucketLevel {
  readonly spentGrains: number;
  /** The time of that state, in milliseconds since the epoch. */
  readonly at: number;
}

/**
 * Processes of one machine read one clock but not at once, so a level may be a little ahead of "now" and simply stays.
 * One that is further ahead was written before the clock was set back: it counts from now.
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

/** When the bucket is full again and can be evicted. */
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

/**
 * Buckets in the memory of one process, for callers that need a synchronous answer. A bucket that is full again is
 * evicted, which changes nothing. If there are more than fit, the one that would be full soonest is evicted: its holder
 * gains the least by it.
 * Invariant: never more than `entriesMax` buckets, and every call costs the same however many there are.
 */
interface Entry {
  readonly level: BucketLevel;
  readonly fullAt: number;
}

/** Buckets examined for each one added, in turn: enough to evict full ones faster than new ones are added. */
const examinedPerEntry = 4;

export class BucketTable {
  readonly #entriesMax: number;
  readonly #entries = new Map<string, Entry>();
  /** The position of the search for full buckets. */
  #round = this.#entries.entries();

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  get size(): number {
    return this.#entries.size;
  }

  take(spendings: readonly Spending[], now: number): LimitDecision {
    const kept = spendings.map(({ key }) => this.#entries.get(key)?.level);
    const { decision, after } = takeFromAll(spendings, kept, now);
    after?.forEach((level, index) => {
      const { key, rate } = spendings[index]!;
      if (!this.#entries.has(key)) this.#makeRoom(now);
      this.#entries.set(key, { level, fullAt: fullAt(level, rate) });
    });
    return decision;
  }

  /** How long `take` would have to wait, without taking anything. */
  waitMs(spendings: readonly Spending[], now: number): number {
    const kept = spendings.map(({ key }) => this.#entries.get(key)?.level);
    return takeFromAll(spendings, kept, now).decision.retryAfterMs;
  }

  #makeRoom(now: number): void {
    let soonest: { readonly key: string; readonly fullAt: number } | undefined;
    for (let examined = 0; examined < examinedPerEntry; examined += 1) {
      const [key, entry] = this.#next() ?? [];
      if (key === undefined || entry === undefined) break;
      if (entry.fullAt <= now) this.#entries.delete(key);
      else if (soonest === undefined || entry.fullAt < soonest.fullAt)
        soonest = { key, fullAt: entry.fullAt };
    }
    if (this.#entries.size >= this.#entriesMax && soonest !== undefined) this.#entries.delete(soonest.key);
  }

  /** Cycles through the buckets: starting at the front each time would step over every entry deleted there before. */
  #next(): readonly [string, Entry] | undefined {
    const { done, value } = this.#round.next();
    if (!done) return value;
    this.#round = this.#entries.entries();
    return this.#round.next().value;
  }
}

/** Some twenty megabytes if all are in use. */
const bucketsMax = 100_000;

export function createMemoryLimiter(): RateLimiter {
  const buckets = new BucketTable(bucketsMax);
  return {
    take: async (spendings, now) => buckets.take(spendings, now),
    close: async () => {},
  };
}

const keyBytes = 16;

/** Keys are addresses and accounts; outside of a process only this hash is stored, which identifies no person. */
export function hashedKey(secret: Uint8Array, key: string): Buffer {
  return createHmac('sha256', secret).update(key).digest().subarray(0, keyBytes);
}
