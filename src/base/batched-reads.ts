/**
 * Reads by key that share calls to an engine: a call costs this process and the engine about the same for one key as
 * for thirty. Keys that are requested together, or while a few calls are in flight, go into one call. No key joins a
 * call that was already sent, because its answer may be older than the request.
 */
import { Batcher } from './batcher.ts';
import type { Clock } from './clock.ts';
import { Problem } from './errors.ts';

export interface BatchedReadsOptions<Value> {
  readonly clock: Clock;
  /** The existing values by key; a promise for a value that the engine returns later than the others. */
  readonly read: (
    keys: readonly string[],
    deadlineMs: number,
  ) => Promise<ReadonlyMap<string, Value | Promise<Value | undefined>>>;
  readonly keysMax: number;
  /** For waiting and reading together. */
  readonly deadlineMs: number;
}

const callsMax = 4;
const keysMin = 16;
/** As many as a few calls can take, so that waiting reads are sent as soon as those in flight have ended or failed. */
const waitingMax = 1_000;
/** A call gets at least this share of the deadline, however long its keys have waited. */
const callShareMin = 1 / 4;

export class BatchedReads<Value> {
  readonly #options: BatchedReadsOptions<Value>;
  readonly #batcher: Batcher<string, Value | undefined>;
  /** By key, until its call is sent. */
  readonly #waiting = new Map<string, Promise<Value | undefined>>();
  /** Calls sent so far; compared with the number of reads it shows what batching saves. */
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
      // A Problem of the engine concerns every key. Any other error may be caused by one key and must not fail the
      // others.
      if (keys.length === 1 || error instanceof Problem) throw error;
      return keys.map(async key => (await this.#read([key], deadlineMs))[0]);
    }
  }
}

function overloaded(): Problem {
  const detail = 'Too many reads are waiting for the link store.';
  return new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
}
