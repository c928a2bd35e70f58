/**
 * Slows down whoever guesses codes, in the memory of this process and without waiting: the redirect asks before
 * it would look anything up. Whoever guesses codes meets mostly codes that do not exist; after so many of them the
 * address is told to come again later, and the store is left alone. Whoever follows links that exist spends
 * nothing here.
 * Invariant: nothing here throws, waits or grows without bound, and an unlimited visit costs a look into a map.
 */
import { BucketTable } from '../accounts/bucket-table.ts';
import type { Rate } from '../accounts/plans.ts';
import { byAddress, oneOf, wholeSeconds } from './spending.ts';

/** Addresses that are kept in mind at once, some ten megabytes. */
const addressesMax = 50_000;

export interface ProbingGuard {
  /** Seconds to wait before this address may ask for what memory does not know; 0 for not at all. */
  isSlowed(address: string, nowMs: number): number;
  /** This address asked for a code that could exist and does not. */
  noteMissing(address: string, nowMs: number): void;
  /** How often the answer was to wait. */
  readonly slowed: number;
}

/** Without a rate nobody is ever slowed. */
export function createProbingGuard(rate: Rate | null): ProbingGuard {
  const buckets = new BucketTable(addressesMax);
  let slowed = 0;
  const spendingsOf = (address: string, each: Rate) => byAddress(oneOf(each, 'probe'), address);
  return {
    get slowed() {
      return slowed;
    },
    isSlowed(address, nowMs) {
      if (rate === null || buckets.size === 0) return 0;
      const waitMs = buckets.waitMs(spendingsOf(address, rate), nowMs);
      if (waitMs > 0) slowed += 1;
      return wholeSeconds(waitMs);
    },
    noteMissing(address, nowMs) {
      if (rate !== null) buckets.take(spendingsOf(address, rate), nowMs);
    },
  };
}
