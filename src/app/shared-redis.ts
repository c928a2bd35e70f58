/** The Redis that processes share, where the settings name one. Its client is loaded only then. */
import type { Clock } from '../base/clock.ts';
import type { Redis } from '../engines/redis/redis.ts';
import type { Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';
import { oneValue } from './metric-table.ts';

/** Longer than it takes to connect, also to a server that is far or busy. */
const firstWordMaxMs = 2_000;

export async function openSharedRedis(
  config: Pick<Config, 'cache'>,
  clock: Clock,
  log: Log,
): Promise<Redis | undefined> {
  if (config.cache === 'none') return undefined;
  const { openRedis } = await import('../engines/redis/open.ts');
  const redis = openRedis(config.cache, { clock });
  redis.onAway(reason => log.warn('a Redis server is away; Terse goes on without it', { reason }));
  // One that was never there cannot go away, so its absence is told by itself.
  const cancelAbsence = clock.after(firstWordMaxMs, () => {
    const { servers, serversAway } = redis.figures;
    log.warn('Redis has not answered since the start; Terse goes on without it', { servers, serversAway });
  });
  redis.onAvailable(() => {
    cancelAbsence();
    log.info('a Redis server is in use');
  });
  return redis;
}

export function redisMetrics(redis: Redis | undefined): Metric[] {
  if (redis === undefined) return [];
  const { servers, serversAway, failures, refusals, outages, isSubscribed } = redis.figures;
  return [
    oneValue('terse_redis_servers', servers),
    oneValue('terse_redis_servers_away', serversAway),
    oneValue('terse_redis_deaf', Number(!isSubscribed)),
    oneValue('terse_redis_failures_total', failures),
    oneValue('terse_redis_refusals_total', refusals),
    oneValue('terse_redis_outages_total', outages),
  ];
}
