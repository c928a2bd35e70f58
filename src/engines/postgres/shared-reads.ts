/**
 * Reads by key that share statements. Keys that are asked for while a few statements are in flight go together into the
 * next one: a statement costs this process and the server about the same for one key as for thirty. No read waits to be
 * batched, and none joins a statement that was already sent, because it may have missed what was written meanwhile.
 */
import { Batcher } from '../../base/batcher.ts';
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import { readDeadlineMs } from './postgres.ts';

export interface SharedReadsOptions<Value> {
  readonly clock: Clock;
  /** The values that there are, by key. */
  readonly read: (keys: readonly string[], deadlineMs: number) => Promise<ReadonlyMap<string, Value>>;
}

const statementsMax = 4;
const keysPerStatement = 250;
/** What the next statements can take; so waiting reads are sent when those in flight end, well or not. */
const waitingMax = statementsMax * keysPerStatement;
/** A statement gets at least this long, however long its keys have waited. */
const statementMinMs = 250;

export class SharedReads<Value> {
  readonly #batcher: Batcher<string, Value | undefined>;
  /** By key, until its statement is sent. */
  readonly #waiting = new Map<string, Promise<Value | undefined>>();
  /** Sent so far; beside the number of reads it shows what sharing saves. */
  statements = 0;

  constructor({ clock, read }: SharedReadsOptions<Value>) {
    this.#batcher = new Batcher({
      clock,
      batchMax: keysPerStatement,
      batchesMax: statementsMax,
      waitingMax,
      full: overloaded,
      run: async (keys, waitedMs) => {
        for (const key of keys) this.#waiting.delete(key);
        this.statements += 1;
        const values = await read(keys, Math.max(statementMinMs, readDeadlineMs - waitedMs));
        return keys.map(key => values.get(key));
      },
    });
  }

  get(key: string): Promise<Value | undefined> {
    const waiting = this.#waiting.get(key);
    if (waiting !== undefined) return waiting;
    if (this.#batcher.isFull) return Promise.reject(overloaded());
    const { promise, resolve, reject } = Promise.withResolvers<Value | undefined>();
    // Before it is added, because an idle batcher sends it at once.
    this.#waiting.set(key, promise);
    this.#batcher.add(key).then(resolve, reject);
    return promise;
  }
}

function overloaded(): Problem {
  const detail = 'Too many reads are waiting for the link store.';
  return new Problem('overloaded', { detail, headers: { 'Retry-After': '1' } });
}
