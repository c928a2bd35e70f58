/** What a single server and a Cluster have in common: the commands, the listeners, the subscriptions, the figures. */
import type { Clock } from '../../base/clock.ts';
import type { RedisAddress, ServerAddress } from './address.ts';
import type { RedisNode } from './node.ts';
import {
  deadlineMsDefault,
  type RedisFigures,
  RedisRefusal,
  type RedisReply,
  type RedisScript,
  type RedisValue,
} from './redis.ts';
import { Subscription } from './subscription.ts';

export interface CommandsOptions {
  readonly address: RedisAddress;
  readonly clock: Clock;
  readonly patienceMs: number;
}

export abstract class Commands {
  protected readonly address: RedisAddress;
  protected readonly clock: Clock;
  readonly #whenAvailable: (() => void)[] = [];
  readonly #whenAway: ((reason: string) => void)[] = [];
  readonly #subscriptions: Subscription[] = [];
  /** What the servers counted that are in use no longer. */
  readonly #past = { failures: 0, refusals: 0, outages: 0 };

  constructor({ address, clock }: CommandsOptions) {
    this.address = address;
    this.clock = clock;
  }

  /** Sends to the server that keeps `key`; without a key, to any. */
  protected abstract send(
    key: string | undefined,
    args: readonly string[],
    deadlineMs: number,
  ): Promise<RedisReply>;
  /** All servers that there are connections to, and those of them that keep keys. */
  protected abstract nodes(): readonly RedisNode[];
  protected abstract primaries(): readonly RedisNode[];
  protected abstract whereToListen(): ServerAddress | undefined;

  async get(key: string, deadlineMs = deadlineMsDefault): Promise<string | undefined> {
    const reply = await this.send(key, ['GET', key], deadlineMs);
    return typeof reply === 'string' ? reply : undefined;
  }

  async set(key: string, value: string, ttlMs: number, deadlineMs = deadlineMsDefault): Promise<void> {
    await this.send(key, ['SET', key, value, 'PX', String(Math.ceil(ttlMs))], deadlineMs);
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    deadlineMs = deadlineMsDefault,
  ): Promise<RedisReply> {
    const rest = [String(keys.length), ...keys, ...values.map(String)];
    try {
      return await this.send(keys[0], ['EVALSHA', script.digest, ...rest], deadlineMs);
    } catch (error) {
      if (!(error instanceof RedisRefusal) || error.code !== 'NOSCRIPT') throw error;
      return this.send(keys[0], ['EVAL', script.source, ...rest], deadlineMs);
    }
  }

  async publish(channel: string, message: string, deadlineMs = deadlineMsDefault): Promise<void> {
    await this.send(undefined, ['PUBLISH', channel, message], deadlineMs);
  }

  async time(deadlineMs = deadlineMsDefault): Promise<number> {
    const [seconds, micros] = (await this.send(undefined, ['TIME'], deadlineMs)) as readonly RedisReply[];
    return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
  }

  subscribe(channel: string, onMessage: (message: string) => void): void {
    const { clock, address: login } = this;
    const server = (): ServerAddress | undefined => this.whereToListen();
    this.#subscriptions.push(new Subscription({ clock, login, channel, onMessage, server }));
  }

  onAvailable(listener: () => void): void {
    this.#whenAvailable.push(listener);
  }

  onAway(listener: (reason: string) => void): void {
    this.#whenAway.push(listener);
  }

  get figures(): RedisFigures {
    const nodes = this.nodes();
    const sum = (count: 'failures' | 'refusals' | 'outages'): number =>
      nodes.reduce((total, node) => total + node[count], this.#past[count]);
    return {
      servers: this.primaries().length,
      serversAway: this.primaries().filter(node => !node.isAvailable).length,
      failures: sum('failures'),
      refusals: sum('refusals'),
      outages: sum('outages'),
      isSubscribed: this.#subscriptions.every(({ isSubscribed }) => isSubscribed),
    };
  }

  async close(): Promise<void> {
    for (const subscription of this.#subscriptions) subscription.close();
    for (const node of this.nodes()) node.close();
  }

  protected retire(node: RedisNode): void {
    node.close();
    for (const count of ['failures', 'refusals', 'outages'] as const) this.#past[count] += node[count];
  }

  protected tellAvailable(): void {
    for (const listener of this.#whenAvailable) listener();
  }

  protected tellAway(reason: string): void {
    for (const listener of this.#whenAway) listener(reason);
  }
}
