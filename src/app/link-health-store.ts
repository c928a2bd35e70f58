/** Where results of checks are kept: in the Redis that machines share, or else in the data folder of this one. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Redis } from '../engines/redis/redis.ts';
import type { HealthStore } from '../health/store.ts';
import { createRedisHealthStore } from '../health/stores/redis/store.ts';
import { openSqliteHealthStore } from '../health/stores/sqlite/store.ts';
import type { Config } from './config.ts';

/** With a connection of its own, unless there is one to share. */
export async function openHealthStore(
  { cache, data }: Pick<Config, 'cache' | 'data'>,
  clock: Clock,
  shared?: Redis,
): Promise<HealthStore> {
  if (cache === 'none') {
    mkdirSync(data, { recursive: true, mode: 0o700 });
    return openSqliteHealthStore(join(data, 'health.db'));
  }
  if (shared !== undefined) return createRedisHealthStore(shared);
  const { openRedis } = await import('../engines/redis/open.ts');
  return createRedisHealthStore(openRedis(cache, { clock }));
}
