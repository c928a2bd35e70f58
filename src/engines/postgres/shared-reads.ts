/**
 * Reads by key that share statements. What is asked for while a few statements are under way goes together into the
 * next one: a statement costs this process and the server about the same for one key as for thirty. Nobody waits for
 * company, and nobody joins a statement that was already sent, for it may have missed what was written meanwhile.
 */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { readDeadlineMs } from './postgres.ts';

export interface SharedReadsOptions<Value> {
  readonly clock: Clock;
  /** The values that there are, by key. */
  readonly read: (keys: readonly string[], deadlineMs: number) => Promise<ReadonlyMap<string, Value>>;
}

interface Waiting<Value> {
  readonly resolve: (value: Value | undefined) => void;
  readonly reject: (error: unknown) => void;
}

const statementsMax = 4;
const keysPerStatement = 250;
/** What the next statements can take; so whoever waits gets in when those under way end, well or not. */
const pendingMax = statementsMax * keysPerStatement;
/** A statement gets at least this long, however long its keys have waited. */
const statementMinMs = 250;

export class SharedReads<Value> {
  readonly #options: SharedReadsOptions<Value>;
  #pending = new Map<string, Waiting<Value>[]>();
  #pendingSinceMs = 0;
  #underWay = 0;
  /** Sent so far; beside the number of reads it shows what sharing saves. */
  statements = 0;

  constructor(options: SharedReadsOptions<Value>) {
    this.#options = options;
  }

  get(key: string): Promise<Value | undefined> {
    return new Promise((resolve, reject) => {
      const others = this.#pending.get(key);
      if (others === undefined && this.#pending.size >= pendingMax) return reject(overloaded());
      if (this.#pending.size === 0) this.#pendingSinceMs = this.#options.clock.monotonicMs();
      if (others === undefined) this.#pending.set(key, [{ resolve, reject }]);
      else others.push({ resolve, reject });
      if (this.#underWay < statementsMax) void this.#send();
    });
  }

  async #send(): Promise<void> {
    this.#underWay += 1;
    while (this.#pending.size > 0) await this.#readTogether(this.#takeKeys());
    this.#underWay -= 1;
  }

  #takeKeys(): Map<string, Waiting<Value>[]> {
    if (this.#pending.size <= keysPerStatement) {
      const all = this.#pending;
      this.#pending = new Map();
      return all;
    }
    const taken = new Map([...this.#pending].slice(0, keysPerStatement));
    for (const key of taken.keys()) this.#pending.delete(key);
    return taken;
  }

  async #readTogether(keys: ReadonlyMap<string, Waiting<Value>[]>): Promise<void> {
    const { clock, read } = this.#options;
    const waitedMs = clock.monotonicMs() - this.#pendingSinceMs;
    this.statements += 1;
    try {
      const values = await read([...keys.keys()], Math.max(statementMinMs, readDeadlineMs - waitedMs));
      for (const [key, waiting] of keys) for (const { resolve } of waiting) resolve(values.get(key));
    } catch (error) {
      for (const waiting of keys.values()) for (const { reject } of waiting) reject(error);
    }
  }
}

function overloaded(): Problem {
  const detail = 'Too many reads are waiting for the link store.';
  return new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
}
