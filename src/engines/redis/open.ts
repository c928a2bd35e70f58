import type { Clock } from '../../base/clock.ts';
import { parseRedisAddress } from './address.ts';
import { RedisCluster } from './cluster.ts';
import type { Redis } from './redis.ts';
import { SingleRedis } from './single.ts';

/** Returns at once; the connections come about by themselves, now or when Redis is there. */
export function openRedis(url: string, { clock }: { readonly clock: Clock }): Redis {
  const address = parseRedisAddress(url);
  return address.isCluster ? new RedisCluster(address, clock) : new SingleRedis(address, clock);
}
