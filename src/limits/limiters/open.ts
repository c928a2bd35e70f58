/** Where the processes of an installation count together: in Redis, or else in a file of the data folder. */
import { join } from 'node:path';
import { systemClock } from '../../base/clock.ts';
import { endsWithin } from '../../base/deadline.ts';
import { lazyThread, startThread } from '../../base/supervised-thread.ts';
import type { Redis } from '../../engines/redis/redis.ts';
import type { LimitDecision, RateLimiter, Spending } from '../rate-limit.ts';
import { createRedisLimiter } from './redis.ts';
import type { SqliteBucketsOptions } from './sqlite/buckets.ts';

export interface SharedLimiterOptions {
  readonly redis: Redis | undefined;
  readonly dataFolder: string;
  readonly secret: Uint8Array;
}

/** How long the thread waits for other processes; less than the limiter waits for the thread. */
const busyMaxMs = 1_000;

export function openSharedLimiter({ redis, dataFolder, secret }: SharedLimiterOptions): RateLimiter {
  if (redis !== undefined) return createRedisLimiter(redis, { secret });
  const options: SqliteBucketsOptions = { path: join(dataFolder, 'limits.db'), secret, busyMaxMs };
  return createSqliteLimiter(() => startThread(new URL('./limits.thread.ts', import.meta.url), options));
}

/**
 * Limits that all processes of one data folder share. A thread works on the buckets, and the first limited request
 * starts it: a server that only its operator uses never has one.
 */

const closeMaxMs = 1_000;

/** The calls that the thread answers. */
export type LimitThreadFunctions = {
  take(spendings: readonly Spending[], now: number): LimitDecision;
  close(): void;
};

/** Starts a thread that answers `LimitThreadFunctions`. */
type StartLimitThread = () => Worker;

export function createSqliteLimiter(startThread: StartLimitThread): RateLimiter {
  const thread = lazyThread<LimitThreadFunctions>('the limit thread', startThread);
  return {
    take: (spendings, now) => thread.caller.call('take', spendings, now),
    async close() {
      if (!thread.isRunning) return;
      const closed = thread.caller.call('close').catch(() => undefined);
      // A thread that is blocked by another process need not be awaited: it has nothing to save.
      await endsWithin(systemClock, closeMaxMs, closed);
      thread.terminate();
    },
  };
}
