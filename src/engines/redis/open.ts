/** Opens Redis: one server, or a cluster. */
import type { Clock } from '../../base/clock.ts';
import { parseRedisAddress, type ServerAddress } from './address.ts';
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
