/**
 * The port of rate limits: one question per request, over all the buckets it concerns. A bucket is named by its
 * key and described by the caller each time, so a driver knows no plans. It is full until something is taken.
 * Invariant: a request takes from all of its buckets or from none, and of a bucket never more than is in it, also
 * when several processes ask at once.
 */
import type { Rate } from './plans.ts';

/** What a request wants of one bucket. */
export interface Spending {
  /** Different in every spending of one request. */
  readonly key: string;
  readonly rate: Rate;
  /** What the bucket holds when it is full. */
  readonly capacity: number;
  /** A whole number; nothing is taken for zero, which is a way to look. */
  readonly cost: number;
}

export interface LimitDecision {
  readonly allowed: boolean;
  /**
   * After how long the same request is allowed if nobody else takes anything: zero when it was, infinite when a
   * bucket is too small for it.
   */
  readonly retryAfterMs: number;
  /** In the order of the spendings, as they are after this request. */
  readonly buckets: readonly BucketState[];
}

export interface BucketState {
  readonly limit: number;
  /** Whole tokens that are left; never negative. */
  readonly remaining: number;
  /** How long this bucket alone makes the request wait. */
  readonly waitMs: number;
  /** Until the bucket is as if nothing had been taken. */
  readonly fullAfterMs: number;
}

export interface RateLimiter {
  take(spendings: readonly Spending[], now: number): Promise<LimitDecision>;
  close(): Promise<void>;
}
