/** The entry point of the thread that keeps the limits which processes share. */
import { SqliteBuckets, type SqliteBucketsOptions } from '../accounts/limiters/sqlite/buckets.ts';
import type { LimitThreadFunctions } from '../accounts/limiters/sqlite/limiter.ts';
import { answerCall } from '../base/thread-call.ts';

declare const self: Worker;

self.onmessage = ({ data: options }: MessageEvent<SqliteBucketsOptions>) => {
  const buckets = new SqliteBuckets(options);
  const functions: LimitThreadFunctions = {
    take: (spendings, now) => buckets.take(spendings, now),
    close: () => buckets.close(),
  };
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
