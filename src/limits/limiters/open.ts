/** Where the processes of an installation count together: in Redis, or else in a file of the data folder. */
import { join } from 'node:path';
import { startThread } from '../../base/supervised-thread.ts';
import type { Redis } from '../../engines/redis/redis.ts';
import type { RateLimiter } from '../rate-limit.ts';
import { createRedisLimiter } from './redis.ts';
import type { SqliteBucketsOptions } from './sqlite/buckets.ts';
import { createSqliteLimiter } from './sqlite/limiter.ts';

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
