/** The Redis that processes share, where the settings name one. Its client is loaded only then. */
import type { Clock } from '../base/clock.ts';
import type { Redis } from '../engines/redis/redis.ts';
import type { Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import type { Config } from './config.ts';

export async function openSharedRedis(
  config: Pick<Config, 'cache'>,
  clock: Clock,
  log: Log,
): Promise<Redis | undefined> {
  if (config.cache === 'none') return undefined;
  const { openRedis } = await import('../engines/redis/open.ts');
  const redis = openRedis(config.cache, { clock });
  redis.onAway(reason => log.warn('a Redis server is away; Terse goes on without it', { reason }));
  redis.onAvailable(() => log.info('a Redis server is in use'));
  return redis;
}

export function redisMetrics(redis: Redis | undefined): Metric[] {
  if (redis === undefined) return [];
  const { servers, serversAway, failures, refusals, outages, isSubscribed } = redis.figures;
  const gauge = (name: string, help: string, value: number): Metric => ({
    name,
    type: 'gauge',
    help,
    across: 'max',
    samples: [{ value }],
  });
  const counter = (name: string, help: string, value: number): Metric => ({
    name,
    type: 'counter',
    help,
    samples: [{ value }],
  });
  return [
    gauge('terse_redis_servers', 'Redis servers in use or expected to be.', servers),
    gauge('terse_redis_servers_away', 'Those of them that do not answer.', serversAway),
    gauge(
      'terse_redis_deaf',
      'Whether changes made elsewhere are heard of by the feed alone.',
      Number(!isSubscribed),
    ),
    counter('terse_redis_failures_total', 'Calls that got no answer in time.', failures),
    counter(
      'terse_redis_refusals_total',
      'Calls not sent, because the server was known to be away.',
      refusals,
    ),
    counter('terse_redis_outages_total', 'Times that a server went away.', outages),
  ];
}
