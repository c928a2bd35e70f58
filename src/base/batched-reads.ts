/**
 * Reads by key that share calls to an engine: a call costs this process and the engine about the same for one key as
 * for thirty. Keys that are asked for together, or while a few calls are in flight, go into one call. None joins a call
 * that was already sent, because it may have missed what was written meanwhile.
 */
import { Batcher } from './batcher.ts';
import type { Clock } from './clock.ts';
import { Problem } from './errors.ts';

export interface BatchedReadsOptions<Value> {
  readonly clock: Clock;
  /** The values that there are, by key; a promise of one that the engine has left for later. */
  readonly read: (
    keys: readonly string[],
    deadlineMs: number,
  ) => Promise<ReadonlyMap<string, Value | Promise<Value | undefined>>>;
  readonly keysMax: number;
  /** For waiting and reading. */
  readonly deadlineMs: number;
}

const callsMax = 4;
const keysMin = 16;
/** What a few calls can take; so waiting reads are sent soon after those in flight have ended, well or not. */
const waitingMax = 1_000;
/** A call gets at least this share of the deadline, however long its keys have waited. */
const callShareMin = 1 / 4;

export class BatchedReads<Value> {
  readonly #options: BatchedReadsOptions<Value>;
  readonly #batcher: Batcher<string, Value | undefined>;
  /** By key, until its call is sent. */
  readonly #waiting = new Map<string, Promise<Value | undefined>>();
  /** Sent so far; beside the number of reads it shows what batching saves. */
  calls = 0;

  constructor(options: BatchedReadsOptions<Value>) {
    const { clock, keysMax, deadlineMs } = options;
    this.#options = options;
    this.#batcher = new Batcher({
      clock,
      batchMax: keysMax,
      batchesMax: callsMax,
      batchMin: keysMin,
      waitingMax,
      full: overloaded,
      run: (keys, waitedMs) => {
        for (const key of keys) this.#waiting.delete(key);
        return this.#read(keys, Math.max(deadlineMs * callShareMin, deadlineMs - waitedMs));
      },
    });
  }

  get(key: string): Promise<Value | undefined> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    if (this.#batcher.isFull) return Promise.reject(overloaded());
    const added = this.#batcher.add(key);
    this.#waiting.set(key, added);
    return added;
  }

  async #read(
    keys: readonly string[],
    deadlineMs: number,
  ): Promise<readonly (Value | undefined | Promise<Value | undefined>)[]> {
    this.calls += 1;
    try {
      const values = await this.#options.read(keys, deadlineMs);
      return keys.map(key => values.get(key));
    } catch (error) {
      // A problem of the engine is that of every key. Anything else may be about one of them, which must not fail the others.
      if (keys.length === 1 || error instanceof Problem) throw error;
      return keys.map(async key => (await this.#read([key], deadlineMs))[0]);
    }
  }
}

function overloaded(): Problem {
  const detail = 'Too many reads are waiting for the link store.';
  return new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
}
