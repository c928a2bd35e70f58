/** Small words that everything which limits requests has in common. */
import type { Rate } from '../accounts/plans.ts';
import type { Spending } from '../accounts/rate-limit.ts';
import { Problem } from '../base/errors.ts';
import { addressGroups } from './address-group.ts';

/**
 * How many IPv6 networks of 64 bits may use up their limits at once within one network of 48 bits. A customer who has
 * all 65,536 of them gets this much instead of 65,536 times as much; phones that a provider numbers from such a network
 * share sixteen times what as many behind one IPv4 address share.
 */
const hostsPerSite = 16;

/** One of as many as the rate has in a period. */
export const oneOf = (rate: Rate, key: string): Spending => ({ key, rate, capacity: rate.count, cost: 1 });

/** The same of the address and, for IPv6, of the larger network it is in; the key says of what. */
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

/** Buckets are counted in whole thousandths of a second of each token, which must stay exact. */
const bounded = (count: number, periodMs: number): number =>
  Math.min(count, Math.floor(Number.MAX_SAFE_INTEGER / periodMs));

/** Rounded up, so that waiting as long is always enough. */
export const wholeSeconds = (durationMs: number): number => Math.ceil(durationMs / 1_000);

export function rateLimited(seconds: number, headers: Readonly<Record<string, string>> = {}): Problem {
  return new Problem('rate_limited', {
    detail: `Try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`,
    fields: { retryAfter: seconds },
    headers: { ...headers, 'Retry-After': String(seconds) },
  });
}
