/** Redis on one server, or behind one address that always leads to the primary. */
import type { ServerAddress } from './address.ts';
import { Commands, type CommandsOptions } from './commands.ts';
import { RedisNode } from './node.ts';
import type { Redis, RedisReply } from './redis.ts';

export class SingleRedis extends Commands implements Redis {
  readonly #server: ServerAddress;
  readonly #node: RedisNode;

  constructor(options: CommandsOptions) {
    super(options);
    const { address, clock, patienceMs } = options;
    this.#server = address.servers[0]!;
    this.#node = new RedisNode({
      clock,
      login: address,
      server: this.#server,
      mustBePrimary: true,
      patienceMs,
      onAvailable: () => this.tellAvailable(),
      onAway: reason => this.tellAway(reason),
    });
  }

  get isAvailable(): boolean {
    return this.#node.isAvailable;
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

  protected override send(_key: unknown, args: readonly string[], deadlineMs: number): Promise<RedisReply> {
    return this.#node.send(args, deadlineMs);
  }
}
