/** The Redis that processes share, where the settings name one. Its client is loaded only then. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { oneValue } from '../../telemetry/metric-table.ts';
import type { Metric } from '../../telemetry/metrics.ts';
import type { Redis } from './redis.ts';

/** Longer than it takes to connect, also to a server that is far or busy. */
const firstWordMaxMs = 2_000;

export async function openSharedRedis(
  /** `none`, or where it is. */
  address: string,
  clock: Clock,
  log: Log,
): Promise<Redis | undefined> {
  if (address === 'none') return undefined;
  const { openRedis } = await import('./open.ts');
  const redis = openRedis(address, { clock });
  redis.onDown(reason => log.warn('a Redis server is down; Terse continues without it', { reason }));
  // One that was never up cannot go down, so its absence is logged separately.
  const cancelAbsence = clock.after(firstWordMaxMs, () => {
    const { servers, serversDown } = redis.figures;
    log.warn('Redis has not answered since the start; Terse continues without it', { servers, serversDown });
  });
  redis.onAvailable(() => {
    cancelAbsence();
    log.info('a Redis server is in use');
  });
  return redis;
}

export function redisMetrics(redis: Redis | undefined): Metric[] {
  if (redis === undefined) return [];
  const { servers, serversDown, failures, refusals, outages, isSubscribed } = redis.figures;
  return [
    oneValue('terse_redis_servers', servers),
    oneValue('terse_redis_servers_down', serversDown),
    oneValue('terse_redis_unsubscribed', Number(!isSubscribed)),
    oneValue('terse_redis_failures_total', failures),
    oneValue('terse_redis_rejected_total', refusals),
    oneValue('terse_redis_outages_total', outages),
  ];
}
