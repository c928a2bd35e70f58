/**
 * The port of rate limits: one question per request, over all the buckets it concerns. A bucket is named by its
 * key and described by the caller each time, so a driver knows no plans. It is full until something is taken.
 * Invariant: a request takes from all of its buckets or from none, and never more from a bucket than is in it, even
 * when several processes ask at once.
 */

import { addressGroups } from '../base/addresses.ts';
import { Problem } from '../base/errors.ts';
import type { Rate } from './plans.ts';

/** What a request takes from one bucket. */
export interface Spending {
  /** Different in every spending of one request. */
  readonly key: string;
  readonly rate: Rate;
  /** What the bucket holds when it is full. */
  readonly capacity: number;
  /** A whole number; zero takes nothing, which is a way to look. */
  readonly cost: number;
}

export interface LimitDecision {
  readonly allowed: boolean;
  /**
   * After how long the same request is allowed if no other request takes anything: zero when it was, infinite when a
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
  /** Until the bucket is full again. */
  readonly fullAfterMs: number;
}

export interface RateLimiter {
  take(spendings: readonly Spending[], now: number): Promise<LimitDecision>;
  close(): Promise<void>;
}

/**
 * How many IPv6 networks of 64 bits may use up their limits at once within one network of 48 bits. A customer who has
 * all 65,536 of them gets this much instead of 65,536 times as much; phones that a provider numbers from such a network
 * share sixteen times what the same number behind one IPv4 address share.
 */
const hostsPerSite = 16;

/** One token of a bucket that holds as many as the rate allows per period. */
export const oneOf = (rate: Rate, key: string): Spending => ({ key, rate, capacity: rate.count, cost: 1 });

/** The same spending for the address and, for IPv6, for the larger network around it. */
export function byAddress(spending: Spending, address: string): Spending[] {
  const { host, site } = addressGroups(address);
  const { key, rate, capacity } = spending;
  const ofHost = { ...spending, key: `${key} ${host}` };
  if (site === host) return [ofHost];
  const ofSite = {
    ...spending,
    key: `${key} ${site}`,
    rate: scaled(rate, hostsPerSite),
    capacity: bounded(capacity * hostsPerSite, rate.periodMs),
  };
  return [ofHost, ofSite];
}

export const scaled = ({ count, periodMs }: Rate, factor: number): Rate => ({
  count: bounded(count * factor, periodMs),
  periodMs,
});

/** A bucket's level is up to `count * periodMs` grains, which must stay an exact integer. */
const bounded = (count: number, periodMs: number): number =>
  Math.min(count, Math.floor(Number.MAX_SAFE_INTEGER / periodMs));

/** Rounded up, so that waiting this long is always enough. */
export const wholeSeconds = (durationMs: number): number => Math.ceil(durationMs / 1_000);

interface Limited {
  /** What is limited, as a sentence without its full stop: `Too many …`. */
  readonly what: string;
  /** The name of the limit, for programs. */
  readonly limit: string;
  /** An alternative for the caller, as a sentence. */
  readonly otherwise?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Says which limit was reached and how long to wait: in minutes, where seconds would be a long number. */
export function rateLimited(
  seconds: number,
  { what, limit, otherwise = '', headers = {} }: Limited,
): Problem {
  const [count, unit] = seconds < 120 ? [seconds, 'second'] : [Math.ceil(seconds / 60), 'minute'];
  return new Problem('rate_limited', {
    detail: `${what}. Try again in ${count} ${unit}${count === 1 ? '' : 's'}. ${otherwise}`.trimEnd(),
    fields: { retryAfter: seconds, limit },
    headers: { ...headers, 'Retry-After': String(seconds) },
  });
}
