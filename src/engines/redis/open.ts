import type { Clock } from '../../base/clock.ts';
import { parseRedisAddress } from './address.ts';
import { RedisCluster } from './cluster.ts';
import type { Redis } from './redis.ts';
import { SingleRedis } from './single.ts';

export interface RedisOptions {
  readonly clock: Clock;
  /** How long a server that is not otherwise asked anything may take to show that it is well. */
  readonly patienceMs?: number;
}

const patienceMsDefault = 500;

/** Returns at once; the connections come about by themselves, now or when Redis is there. */
export function openRedis(url: string, { clock, patienceMs = patienceMsDefault }: RedisOptions): Redis {
  const address = parseRedisAddress(url);
  const options = { address, clock, patienceMs };
  return address.isCluster ? new RedisCluster(options) : new SingleRedis(options);
}
