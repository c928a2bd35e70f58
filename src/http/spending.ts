/** Small words that everything which limits requests has in common. */
import type { Rate } from '../accounts/plans.ts';
import type { Spending } from '../accounts/rate-limit.ts';
import { Problem } from '../base/errors.ts';

/** One of as many as the rate has in a period. */
export const oneOf = (rate: Rate, key: string): Spending => ({ key, rate, capacity: rate.count, cost: 1 });

/** Rounded up, so that waiting as long is always enough. */
export const wholeSeconds = (durationMs: number): number => Math.ceil(durationMs / 1_000);

export function rateLimited(seconds: number, headers: Readonly<Record<string, string>> = {}): Problem {
  return new Problem('rate_limited', {
    detail: `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    fields: { retryAfter: seconds },
    headers: { ...headers, 'Retry-After': String(seconds) },
  });
}
