/** What a single server and a Cluster have in common: the commands, the listeners, the subscriptions, the figures. */
import type { Clock } from '../../base/clock.ts';
import { answerWithin, type Client, openClient, type RedisAddress, type ServerAddress } from './client.ts';
import type { RedisNode } from './node.ts';
import {
  deadlineMsDefault,
  type RedisFigures,
  RedisRefusal,
  type RedisReply,
  type RedisScript,
  type RedisValue,
} from './redis.ts';

export interface CommandsOptions {
  readonly address: RedisAddress;
  readonly clock: Clock;
  readonly timeoutMs: number;
}

export abstract class Commands {
  protected readonly address: RedisAddress;
  protected readonly clock: Clock;
  readonly #whenAvailable: (() => void)[] = [];
  readonly #whenDown: ((reason: string) => void)[] = [];
  readonly #subscriptions: Subscription[] = [];
  /** What the servers counted that are in use no longer. */
  readonly #past = { failures: 0, refusals: 0, outages: 0 };

  constructor({ address, clock }: CommandsOptions) {
    this.address = address;
    this.clock = clock;
  }

  /** The server that keeps `key`; without a key, any. Throws when there is none. */
  protected abstract ownerOf(key: string | undefined): RedisNode;
  /** A server has refused a call. */
  protected onRefusal(_refusal: RedisRefusal): void {}
  /** All servers that there are connections to, and those of them that keep keys. */
  protected abstract nodes(): readonly RedisNode[];
  protected abstract primaries(): readonly RedisNode[];
  protected abstract whereToListen(): ServerAddress | undefined;

  async get(key: string, deadlineMs = deadlineMsDefault): Promise<string | undefined> {
    const reply = await this.ownerOf(key).keyed.get(key, deadlineMs);
    if (reply instanceof RedisRefusal) throw this.#refused(reply);
    return typeof reply === 'string' ? reply : undefined;
  }

  async set(key: string, value: string, ttlMs: number, deadlineMs = deadlineMsDefault): Promise<void> {
    await this.#send(key, ['SET', key, value, 'PX', String(Math.ceil(ttlMs))], deadlineMs);
  }

  async run(
    script: RedisScript,
    keys: readonly string[],
    values: readonly RedisValue[],
    deadlineMs = deadlineMsDefault,
  ): Promise<RedisReply> {
    const rest = [String(keys.length), ...keys, ...values.map(String)];
    try {
      return await this.#send(keys[0], ['EVALSHA', script.digest, ...rest], deadlineMs);
    } catch (error) {
      if (!(error instanceof RedisRefusal) || error.code !== 'NOSCRIPT') throw error;
      return this.#send(keys[0], ['EVAL', script.source, ...rest], deadlineMs);
    }
  }

  async runEach(
    script: RedisScript,
    key: string,
    values: readonly RedisValue[],
    deadlineMs = deadlineMsDefault,
  ): Promise<RedisReply> {
    const reply = await this.ownerOf(key).keyed.run(script, key, values, deadlineMs);
    if (reply instanceof RedisRefusal) throw this.#refused(reply);
    return reply;
  }

  async publish(channel: string, message: string, deadlineMs = deadlineMsDefault): Promise<void> {
    await this.#send(channel, ['PUBLISH', channel, message], deadlineMs);
  }

  async time(deadlineMs = deadlineMsDefault): Promise<number> {
    const [seconds, micros] = (await this.#send(undefined, ['TIME'], deadlineMs)) as readonly RedisReply[];
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

  onDown(listener: (reason: string) => void): void {
    this.#whenDown.push(listener);
  }

  get figures(): RedisFigures {
    const nodes = this.nodes();
    const sum = (count: 'failures' | 'refusals' | 'outages'): number =>
      nodes.reduce((total, node) => total + node[count], this.#past[count]);
    return {
      servers: this.primaries().length,
      serversDown: this.primaries().filter(node => !node.isAvailable).length,
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

  async #send(key: string | undefined, args: readonly string[], deadlineMs: number): Promise<RedisReply> {
    try {
      return await this.ownerOf(key).send(args, deadlineMs);
    } catch (error) {
      throw error instanceof RedisRefusal ? this.#refused(error) : error;
    }
  }

  #refused(refusal: RedisRefusal): RedisRefusal {
    this.onRefusal(refusal);
    return refusal;
  }

  protected retire(node: RedisNode): void {
    node.close();
    for (const count of ['failures', 'refusals', 'outages'] as const) this.#past[count] += node[count];
  }

  protected tellAvailable(): void {
    for (const listener of this.#whenAvailable) listener();
  }

  protected notifyDown(reason: string): void {
    for (const listener of this.#whenDown) listener(reason);
  }
}

/**
 * A connection that only listens. Nothing else shows whether it still receives, so it is pinged, and replaced (at
 * another server if there is one) when it breaks or does not answer.
 */
export interface SubscriptionOptions {
  readonly clock: Clock;
  readonly login: RedisAddress;
  readonly channel: string;
  readonly onMessage: (message: string) => void;
  /** Where to listen; looked up again each time. Undefined while there is no such server. */
  readonly server: () => ServerAddress | undefined;
}

const checkEveryMs = 1_000;
const reopenAfterMs = 200;
const answerMaxMs = 1_000;

class Subscription {
  readonly #options: SubscriptionOptions;
  #client: Client | undefined;
  #cancelCheck: (() => void) | undefined;
  #isClosed = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
    void this.#check();
  }

  get isSubscribed(): boolean {
    return this.#client !== undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelCheck?.();
    this.#drop();
  }

  async #check(): Promise<void> {
    this.#cancelCheck = undefined;
    try {
      if (this.#client === undefined) await this.#open();
      else await answerWithin(this.#options.clock, answerMaxMs, this.#client.send(['PING']));
    } catch {
      this.#drop();
    }
    if (this.#isClosed) this.#drop();
    else this.#plan();
  }

  async #open(): Promise<void> {
    const { clock, login, channel, onMessage, server: choose } = this.#options;
    const server = choose();
    if (server === undefined) return;
    let opened: Client | undefined;
    const onLost = (): void => {
      if (opened === undefined || opened !== this.#client) return;
      this.#drop();
      this.#plan();
    };
    opened = await openClient({ clock, login, server, onLost });
    try {
      await answerWithin(clock, answerMaxMs, opened.subscribe(channel, onMessage));
    } catch (error) {
      opened.destroy();
      throw error;
    }
    this.#client = opened;
  }

  #drop(): void {
    const client = this.#client;
    this.#client = undefined;
    client?.destroy();
  }

  #plan(): void {
    if (this.#isClosed) return;
    this.#cancelCheck?.();
    const delayMs = this.#client === undefined ? reopenAfterMs : checkEveryMs;
    this.#cancelCheck = this.#options.clock.after(delayMs, () => void this.#check());
  }
}
