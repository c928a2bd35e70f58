/** The entry point of the thread that keeps the limits which processes share. */

import { answerCalls } from '../../base/thread-call.ts';
import { SqliteBuckets, type SqliteBucketsOptions } from './sqlite/buckets.ts';
import type { LimitThreadFunctions } from './sqlite/limiter.ts';

declare const self: Worker;

answerCalls(self, (options: SqliteBucketsOptions): LimitThreadFunctions => {
  const buckets = new SqliteBuckets(options);
  return { take: (spendings, now) => buckets.take(spendings, now), close: () => buckets.close() };
});
