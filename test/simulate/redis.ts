/**
 * The simulated Redis: one server with its own clock, which loses everything in a restart, loses its latest writes in a
 * failover, and evicts. Its scripts are functions here; the conformance suites of cache and pending links check that
 * they do the same as the Lua scripts.
 */
import {
  deadlineMsDefault,
  type Redis,
  type RedisReply,
  type RedisScript,
  RedisUnavailable,
  type RedisValue,
} from '../../src/engines/redis/redis.ts';
import { removeScript } from '../../src/links/pendings/redis/pendings.ts';
import { fillScript, readMarkScript, writeMarkScript } from '../../src/resolve/caches/redis.ts';
import { bugs } from './bugs.ts';
import { type Kernel, Party } from './kernel.ts';
import type { CallOptions, Network } from './network.ts';

interface Value {
  readonly text: string;
  readonly expiresMs: number;
}

interface Subscription {
  readonly client: Party;
  readonly life: number;
  readonly listeners: readonly ((message: string) => void)[];
  lastMs: number;
}

const probeMs = 100;
const failuresMax = 3;

export class SimRedis {
  readonly party: Party;
  readonly #kernel: Kernel;
  readonly #network: Network;
  #values = new Map<string, Value>();
  /** The value that each write replaced, for a failover that loses the latest. */
  #journal: { readonly atMs: number; readonly key: string; readonly before: Value | undefined }[] = [];
  readonly #subscriptions = new Set<Subscription>();
  /** The chance that a message to one subscriber is lost, comes twice, or comes late. */
  messageLossRate = 0;

  constructor(kernel: Kernel, network: Network) {
    this.#kernel = kernel;
    this.#network = network;
    this.party = new Party(kernel, 'redis');
  }

  get nowMs(): number {
    return this.#kernel.nowMs + this.party.skewMs;
  }

  get size(): number {
    return this.#values.size;
  }

  crash(): void {
    this.party.crash();
    this.#subscriptions.clear();
  }

  restartEmpty(): void {
    this.#values.clear();
    this.#journal = [];
    this.party.recover();
  }

  /** A replica without the latest writes takes over. */
  failOver(lostMs: number): void {
    const fromMs = this.#kernel.nowMs - lostMs;
    for (
      let last = this.#journal.at(-1);
      last !== undefined && last.atMs >= fromMs;
      last = this.#journal.at(-1)
    ) {
      this.#journal.pop();
      if (last.before === undefined) this.#values.delete(last.key);
      else this.#values.set(last.key, last.before);
    }
    this.party.recover();
  }

  /** Evicts cached links only: Redis must be large enough for pending links (docs/operations/queued-writes.md). */
  evictSome(share: number): void {
    for (const key of [...this.#values.keys()])
      if (key.startsWith('terse/') && this.#kernel.chance(share)) this.#values.delete(key);
  }

  openFor(client: Party): Redis {
    const life = client.life;
    const onAvailable: (() => void)[] = [];
    const onDown: ((reason: string) => void)[] = [];
    const listeners: ((message: string) => void)[] = [];
    const figures = { servers: 1, serversDown: 0, failures: 0, refusals: 0, outages: 0, isSubscribed: true };
    let isUp = true;
    let isClosed = false;
    let failures = 0;

    const goDown = (reason: string): void => {
      if (!isUp) return;
      isUp = false;
      figures.outages += 1;
      for (const listener of onDown) listener(reason);
      probe();
    };
    const ask = <Result>(work: () => Promise<Result> | Result, timeoutMs: number): Promise<Result> =>
      this.#network.call(client, this.party, work, optionsOf(timeoutMs));
    const probe = (): void => {
      client.after(probeMs, () => {
        if (isClosed || client.life !== life) return;
        ask(() => this.#subscribe(client, life, listeners), deadlineMsDefault).then(
          () => {
            isUp = true;
            failures = 0;
            for (const listener of onAvailable) listener();
          },
          () => probe(),
        );
      });
    };
    const call = async <Result>(
      work: () => Promise<Result> | Result,
      timeoutMs = deadlineMsDefault,
    ): Promise<Result> => {
      if (!isUp || isClosed) throw new RedisUnavailable('redis is down');
      try {
        const result = await ask(work, timeoutMs);
        failures = 0;
        return result;
      } catch (error) {
        failures += 1;
        figures.failures += 1;
        if ((error as Error).message.includes('refused') || failures >= failuresMax) goDown(String(error));
        throw error;
      }
    };
    // A subscription has a separate connection, which is reopened when it breaks.
    const keepSubscribed = (): void => {
      client.after(probeMs, () => {
        if (isClosed) return;
        keepSubscribed();
        if (isUp && listeners.length > 0 && !this.#isSubscribed(client, life))
          void ask(() => this.#subscribe(client, life, listeners), deadlineMsDefault).catch(() => undefined);
      });
    };
    keepSubscribed();
    client.after(0, () => {
      for (const listener of onAvailable) listener();
    });
    return {
      get: (key, deadlineMs) => call(() => this.#read(key)?.text, deadlineMs),
      set: (key, value, ttlMs, deadlineMs) => call(() => this.#write(key, value, ttlMs), deadlineMs),
      run: (script, keys, values, deadlineMs) =>
        call(() => this.#runSlowly(script, keys[0]!, values), deadlineMs),
      runEach: (script, key, values, deadlineMs) =>
        call(() => this.#runSlowly(script, key, values), deadlineMs),
      publish: (_channel, message, deadlineMs) => call(() => this.#publish(message), deadlineMs),
      subscribe(_channel, onMessage) {
        listeners.push(onMessage);
      },
      time: deadlineMs => call(() => this.nowMs, deadlineMs),
      areTogether: () => true,
      keyOnEach: name => [name],
      get isAvailable() {
        return isUp;
      },
      isAvailableFor: () => isUp,
      onAvailable: listener => void onAvailable.push(listener),
      onDown: listener => void onDown.push(listener),
      get figures() {
        return { ...figures, serversDown: Number(!isUp) };
      },
      close: async () => {
        isClosed = true;
        for (const each of this.#subscriptions)
          if (each.client === client && each.life === life) this.#subscriptions.delete(each);
      },
    };
  }

  #subscribe(client: Party, life: number, listeners: readonly ((message: string) => void)[]): void {
    if (!this.#isSubscribed(client, life)) this.#subscriptions.add({ client, life, listeners, lastMs: 0 });
  }

  #isSubscribed(client: Party, life: number): boolean {
    return this.#subscriptions.values().some(each => each.client === client && each.life === life);
  }

  #publish(published: string): void {
    const kernel = this.#kernel;
    const message = bugs.has('message-is-empty') ? published.replace(/ links .*/, ' links  ') : published;
    for (const subscription of this.#subscriptions) {
      const { client, life, listeners } = subscription;
      if (client.life !== life) {
        this.#subscriptions.delete(subscription);
        continue;
      }
      if (this.#network.isCut(client, this.party) || kernel.chance(this.messageLossRate)) continue;
      const deliver = (delayMs: number): void =>
        void client.after(delayMs, () => {
          for (const listener of listeners) listener(message);
        });
      // In order, as over one connection.
      const atMs = Math.max(kernel.nowMs + this.#network.latency(), subscription.lastMs);
      subscription.lastMs = atMs;
      deliver(atMs - kernel.nowMs);
      if (kernel.chance(this.messageLossRate)) deliver(kernel.between(0, 2_000));
    }
  }

  #read(key: string): Value | undefined {
    const value = this.#values.get(key);
    return value !== undefined && value.expiresMs > this.#kernel.nowMs ? value : undefined;
  }

  #write(key: string, text: string, ttlMs: number): void {
    if (bugs.has('pending-record-is-lost') && key.includes(':pending:')) return;
    const atMs = this.#kernel.nowMs;
    this.#journal.push({ atMs, key, before: this.#values.get(key) });
    if (this.#journal.length > 2_000) this.#journal.splice(0, 1_000);
    this.#values.set(key, { text, expiresMs: atMs + ttlMs });
  }

  /** With a fence that is ignored, half of the fills take long, so that a change comes between. */
  async #runSlowly(script: RedisScript, key: string, values: readonly RedisValue[]): Promise<RedisReply> {
    const kernel = this.#kernel;
    if (bugs.has('fence-is-ignored') && script === fillScript && kernel.chance(0.5))
      await new Promise<void>(resolve => this.party.after(kernel.between(100, 2_000), resolve));
    return this.#run(script, key, values);
  }

  #run(script: RedisScript, key: string, values: readonly RedisValue[]): RedisReply {
    const held = this.#read(key)?.text;
    if (script === fillScript) return Number(this.#fill(key, held, values));
    if (script === readMarkScript) return [Math.floor(this.nowMs), held ?? null];
    if (script === writeMarkScript) {
      const trust = Math.max(Number(values[1]), Number(/ (\d+)$/.exec(held ?? '')?.[1] ?? 0));
      this.#write(key, `${values[0]} ${Math.floor(this.nowMs)} ${trust}`, Number.POSITIVE_INFINITY);
      return trust;
    }
    if (script === removeScript) {
      this.#journal.push({ atMs: this.#kernel.nowMs, key, before: this.#values.get(key) });
      return Number(this.#values.delete(key));
    }
    throw new Error('an unknown script');
  }

  #fill(key: string, held: string | undefined, [filling]: readonly RedisValue[]): boolean {
    const [, version, ttlS, record] = /^(\d+) (\d+) (.*)$/s.exec(String(filling))!;
    if (held === '!' && !bugs.has('fence-is-ignored')) return false;
    if (Number(/^\d+/.exec(held ?? '')?.[0] ?? 0) > Number(version)) return false;
    this.#write(key, `${version} ${Math.floor(this.nowMs / 1_000)} ${ttlS} ${record}`, Number(ttlS) * 1_000);
    return true;
  }
}

const optionsOf = (timeoutMs: number): CallOptions => ({
  timeoutMs,
  failure: (_lost, reason) => new RedisUnavailable(reason),
});
