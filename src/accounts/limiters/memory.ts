/** Limits of one process on its own, forgotten when it ends. */
import { BucketTable } from '../bucket-table.ts';
import type { RateLimiter } from '../rate-limit.ts';

/** Some twenty megabytes if ever they are all in use. */
const bucketsMax = 100_000;

export function createMemoryLimiter(): RateLimiter {
  const buckets = new BucketTable(bucketsMax);
  return {
    take: async (spendings, now) => buckets.take(spendings, now),
    close: async () => {},
  };
}
