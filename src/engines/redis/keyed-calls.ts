/**
 * Calls to one server for one key each, which share round trips: those made in the same turn of the event loop, or while
 * a few are in flight. A server that has all keys gets one command for them; one of a Cluster takes only keys of one
 * slot in a command, and gets a command for each key in one write. Each call fails or is refused as if it were alone.
 */
import { Batcher } from '../../base/batcher.ts';
import type { Clock } from '../../base/clock.ts';
import { waitingMax } from './client.ts';
import {
  RedisRefusal,
  type RedisReply,
  type RedisScript,
  RedisUnavailable,
  type RedisValue,
} from './redis.ts';

export interface KeyedCallsOptions {
  readonly clock: Clock;
  readonly isOfCluster: boolean;
}

interface CommandSender {
  sendAll(
    commands: readonly (readonly string[])[],
    calls: number,
    deadlineMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]>;
}

interface KeyedCall {
  readonly key: string;
  readonly values: readonly RedisValue[];
}

type CallBatcher = Batcher<KeyedCall, RedisReply | RedisRefusal>;

/** A server does nothing else meanwhile: so many take it about a tenth of a millisecond to read, and one to write. */
const keysMax = 128;
const keysMin = 16;
const batchesMax = 4;
/** A batch gets at least this share of the deadline, however long its calls have waited. */
const batchShareMin = 1 / 2;
const noValues: readonly RedisValue[] = [];

export class KeyedCalls {
  readonly #server: CommandSender;
  readonly #options: KeyedCallsOptions;
  /** By script, if there is one, and deadline. */
  readonly #batchers = new Map<RedisScript | undefined, Map<number, CallBatcher>>();
  #takesManyKeys: boolean;

  constructor(server: CommandSender, options: KeyedCallsOptions) {
    this.#server = server;
    this.#options = options;
    this.#takesManyKeys = !options.isOfCluster;
  }

  get(key: string, deadlineMs: number): Promise<RedisReply | RedisRefusal> {
    return this.#batcher(undefined, deadlineMs).add({ key, values: noValues });
  }

  run(
    script: RedisScript,
    key: string,
    values: readonly RedisValue[],
    deadlineMs: number,
  ): Promise<RedisReply | RedisRefusal> {
    return this.#batcher(script, deadlineMs).add({ key, values });
  }

  #batcher(script: RedisScript | undefined, deadlineMs: number): CallBatcher {
    const known = this.#batchers.get(script)?.get(deadlineMs);
    if (known !== undefined) return known;
    const opened = this.#open(script, deadlineMs);
    this.#batchers.set(script, new Map(this.#batchers.get(script)).set(deadlineMs, opened));
    return opened;
  }

  #open(script: RedisScript | undefined, deadlineMs: number): CallBatcher {
    return new Batcher({
      clock: this.#options.clock,
      batchMax: keysMax,
      batchesMax,
      batchMin: keysMin,
      waitingMax,
      full: () => new RedisUnavailable('too many calls are waiting'),
      run: (calls, waitedMs) => {
        const leftMs = Math.max(deadlineMs * batchShareMin, deadlineMs - waitedMs);
        return script === undefined ? this.#getAll(calls, leftMs) : this.#runAll(script, calls, leftMs);
      },
    });
  }

  async #getAll(
    calls: readonly KeyedCall[],
    leftMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]> {
    const keys = calls.map(({ key }) => key);
    if (keys.length > 1 && this.#takesManyKeys) {
      const replies = await this.#sendOne(['MGET', ...keys], keys.length, leftMs);
      const [first] = replies;
      if (!(first instanceof RedisRefusal) || first.code !== 'NOPERM') return replies;
      // A user that was set up for an earlier version may have GET alone.
      this.#takesManyKeys = false;
    }
    const commands = keys.map(key => ['GET', key]);
    return this.#server.sendAll(commands, keys.length, leftMs);
  }

  async #runAll(
    script: RedisScript,
    calls: readonly KeyedCall[],
    leftMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]> {
    const replies = await this.#evaluate(['EVALSHA', script.digest], calls, leftMs);
    const unknown = calls.filter((_, place) => isUnknownScript(replies[place]!));
    if (unknown.length === 0) return replies;
    const late = (await this.#evaluate(['EVAL', script.source], unknown, leftMs)).values();
    return replies.map(reply => (isUnknownScript(reply) ? late.next().value! : reply));
  }

  async #evaluate(
    command: readonly string[],
    calls: readonly KeyedCall[],
    leftMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]> {
    const commandFor = (some: readonly KeyedCall[]): string[] => [
      ...command,
      String(some.length),
      ...some.map(({ key }) => key),
      ...some.flatMap(({ values }) => values.map(String)),
    ];
    if (!this.#options.isOfCluster) return this.#sendOne(commandFor(calls), calls.length, leftMs);
    const commands = calls.map(call => commandFor([call]));
    const replies = await this.#server.sendAll(commands, calls.length, leftMs);
    return replies.map(reply =>
      reply instanceof RedisRefusal ? reply : (reply as readonly RedisReply[])[0]!,
    );
  }

  /** One command for all of the calls; its reply has one for each. */
  async #sendOne(
    command: readonly string[],
    calls: number,
    leftMs: number,
  ): Promise<readonly (RedisReply | RedisRefusal)[]> {
    const [reply] = await this.#server.sendAll([command], calls, leftMs);
    if (!(reply instanceof RedisRefusal)) return reply as readonly RedisReply[];
    return Array.from({ length: calls }, () => reply);
  }
}

const isUnknownScript = (reply: RedisReply | RedisRefusal): boolean =>
  reply instanceof RedisRefusal && reply.code === 'NOSCRIPT';
