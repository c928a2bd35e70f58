/** The entry point of the thread that keeps the limits which processes share. */

import { answerCalls } from '../../base/thread-call.ts';
import type { LimitThreadFunctions } from './open.ts';
import { SqliteBuckets, type SqliteBucketsOptions } from './sqlite/buckets.ts';

declare const self: Worker;

answerCalls(self, (options: SqliteBucketsOptions): LimitThreadFunctions => {
  const buckets = new SqliteBuckets(options);
  return { take: (spendings, now) => buckets.take(spendings, now), close: () => buckets.close() };
});
