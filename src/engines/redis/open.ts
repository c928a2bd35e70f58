/** Opens Redis: one server, or a cluster. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../telemetry/log.ts';
import { oneValue } from '../../telemetry/metric-table.ts';
import type { Metric } from '../../telemetry/metrics.ts';
import { parseRedisAddress, type ServerAddress } from './client.ts';
import { RedisCluster } from './cluster.ts';
import { Commands, type CommandsOptions } from './commands.ts';
import { RedisNode } from './node.ts';
import type { Redis } from './redis.ts';

export interface RedisOptions {
  readonly clock: Clock;
  /** How long a server that is not otherwise asked anything may take to show that it is well. */
  readonly timeoutMs?: number;
}

const timeoutMsDefault = 500;

/** Returns at once; the connections come about by themselves, now or when Redis is there. */
export function openRedis(url: string, { clock, timeoutMs = timeoutMsDefault }: RedisOptions): Redis {
  const address = parseRedisAddress(url);
  const options = { address, clock, timeoutMs };
  return address.isCluster ? new RedisCluster(options) : new SingleRedis(options);
}

/** Redis on one server, or behind one address that always leads to the primary. */
export class SingleRedis extends Commands implements Redis {
  readonly #server: ServerAddress;
  readonly #node: RedisNode;

  constructor(options: CommandsOptions) {
    super(options);
    const { address, clock, timeoutMs } = options;
    this.#server = address.servers[0]!;
    this.#node = new RedisNode({
      clock,
      login: address,
      server: this.#server,
      isOfCluster: false,
      timeoutMs,
      onAvailable: () => this.tellAvailable(),
      onDown: reason => this.notifyDown(reason),
    });
  }

  get isAvailable(): boolean {
    return this.#node.isAvailable;
  }

  isAvailableFor(): boolean {
    return this.isAvailable;
  }

  areTogether(): boolean {
    return true;
  }

  keyOnEach(name: string): readonly string[] {
    return [name];
  }

  protected override nodes(): readonly RedisNode[] {
    return [this.#node];
  }

  protected override primaries(): readonly RedisNode[] {
    return [this.#node];
  }

  protected override whereToListen(): ServerAddress {
    return this.#server;
  }

  protected override ownerOf(): RedisNode {
    return this.#node;
  }
}

/** Longer than it takes to connect, also to a server that is far or busy. */
const firstWordMaxMs = 2_000;

/** The Redis that processes share, where the settings name one. */
export async function openSharedRedis(
  /** `none`, or where it is. */
  address: string,
  clock: Clock,
  log: Log,
): Promise<Redis | undefined> {
  if (address === 'none') return undefined;
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
