/**
 * Group commit. Writes that arrive in one turn of the event loop, or while a transaction is being made durable, wait
 * together and share the next one, so thousands of creates a second cost a few hundred fsyncs. The transaction runs on
 * a thread of its own (`runWriterLoop`): an fsync that takes milliseconds never delays a redirect.
 *
 * A promise returned by `run` resolves only after COMMIT, which is what makes a 201 mean "durable".
 */

import type { Database, Statement } from 'bun:sqlite';
import { atEndOfTurn } from '../../base/clock.ts';
import { type Outcome, Problem } from '../../base/errors.ts';
import { openForWriting, withBusyRetry } from './database.ts';
import { type MigrationSet, migrate } from './migrations.ts';

/** What the writer thread can do: each operation runs inside the shared transaction. */
// biome-ignore lint/suspicious/noExplicitAny: the operations' own types are restored by `run`.
type Operations = Record<string, (input: any) => unknown>;

interface BatchRequest {
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
}

type BatchReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'committed'; readonly results: readonly unknown[] }
  | {
      readonly kind: 'failed';
      readonly message: string;
      readonly code: string | undefined;
      /** Unknown when the commit itself failed: what it had written may be found after a crash. */
      readonly outcome: Outcome;
    };

interface PendingCall {
  readonly name: string;
  readonly input: unknown;
  readonly weight: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

/** Rows that may wait for the writer; past it new writes are refused instead of queueing without end. */
const queuedWeightMax = 200_000;
/** Rows in one transaction: bounds how long the other processes wait for the write lock. */
const batchWeightMax = 20_000;

export interface WriterOptions {
  /** Starts the thread; it must call `runWriterLoop`. */
  readonly startThread: () => Worker;
  readonly path: string;
}

export class SqliteWriter<Ops extends Operations> {
  readonly #worker: Worker;
  #pending: PendingCall[] = [];
  #inFlight: PendingCall[] = [];
  #queuedWeight = 0;
  /** Whether the next transaction starts at the end of this turn. */
  #isStarting = false;
  #failure: Error | undefined;
  #closing: Promise<void> | undefined;
  #idle: (() => void) | undefined;
  /** Transactions committed so far; beside the number of writes it shows what sharing saves. */
  commits = 0;

  private constructor(worker: Worker) {
    this.#worker = worker;
  }

  /** Resolves when the database file is open and migrated. */
  static async start<Ops extends Operations>(options: WriterOptions): Promise<SqliteWriter<Ops>> {
    const worker = options.startThread();
    const writer = new SqliteWriter<Ops>(worker);
    await new Promise<void>((resolve, reject) => {
      worker.onmessage = ({ data }: MessageEvent<BatchReply>) => {
        if (data.kind === 'ready') resolve();
        else
          reject(new Error(data.kind === 'failed' ? data.message : 'unexpected reply of the writer thread'));
      };
      worker.onerror = event => reject(new Error(event.message));
      worker.postMessage(options.path);
    });
    worker.onmessage = ({ data }: MessageEvent<BatchReply>) => writer.#settle(data);
    worker.onerror = event => writer.#die(new Error(event.message));
    return writer;
  }

  /** Rows that wait to be written or are being written, and how many may. */
  get usage(): { readonly queued: number; readonly queuedMax: number } {
    return { queued: this.#queuedWeight, queuedMax: queuedWeightMax };
  }

  /** `weight` is about how many rows the call writes. */
  run<Name extends keyof Ops & string>(
    name: Name,
    input: Parameters<Ops[Name]>[0],
    weight = 1,
  ): Promise<ReturnType<Ops[Name]>> {
    return new Promise((resolve, reject) => {
      if (this.#failure !== undefined || this.#closing !== undefined) {
        reject(new Problem('store_unavailable', { cause: this.#failure, outcome: 'none' }));
      } else if (this.#queuedWeight + weight > queuedWeightMax) {
        reject(
          new Problem('overloaded', {
            detail: 'Too many writes are waiting.',
            headers: { 'Retry-After': '1' },
          }),
        );
      } else {
        this.#queuedWeight += weight;
        this.#pending.push({ name, input, weight, resolve: resolve as (value: unknown) => void, reject });
        if (this.#inFlight.length === 0) this.#sendSoon();
      }
    });
  }

  /** Waits for what was accepted, then ends the thread. */
  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (this.#inFlight.length + this.#pending.length > 0)
      await new Promise<void>(resolve => (this.#idle = resolve));
    this.#worker.terminate();
  }

  /** Other requests of this turn are about to write as well. */
  #sendSoon(): void {
    if (this.#isStarting) return;
    this.#isStarting = true;
    atEndOfTurn(() => {
      this.#isStarting = false;
      if (this.#inFlight.length === 0 && this.#pending.length > 0) this.#send();
    });
  }

  #send(): void {
    let taken = 0;
    let weight = 0;
    for (const call of this.#pending) {
      if (taken > 0 && weight + call.weight > batchWeightMax) break;
      weight += call.weight;
      taken += 1;
    }
    this.#inFlight = this.#pending.splice(0, taken);
    const request: BatchRequest = { calls: this.#inFlight.map(({ name, input }) => ({ name, input })) };
    this.#worker.postMessage(request);
  }

  #settle(reply: BatchReply): void {
    const calls = this.#inFlight;
    this.#inFlight = [];
    for (const call of calls) this.#queuedWeight -= call.weight;
    if (reply.kind === 'committed') {
      this.commits += 1;
      calls.forEach((call, index) => {
        call.resolve(reply.results[index]);
      });
    } else {
      const { message, outcome } =
        reply.kind === 'failed'
          ? reply
          : { message: 'unexpected reply of the writer thread', outcome: 'unknown' as const };
      const error = new Problem('store_unavailable', { cause: new Error(message), outcome });
      for (const call of calls) call.reject(error);
    }
    if (this.#pending.length > 0) this.#send();
    else this.#idle?.();
  }

  #die(error: Error): void {
    this.#failure = error;
    const [begun, waiting] = [this.#inFlight, this.#pending];
    this.#inFlight = [];
    this.#pending = [];
    const rejectAll = (calls: readonly PendingCall[], outcome: Outcome): void => {
      for (const call of calls) call.reject(new Problem('store_unavailable', { cause: error, outcome }));
    };
    rejectAll(begun, 'unknown');
    rejectAll(waiting, 'none');
    this.#idle?.();
  }
}

/**
 * The writer thread's side of group commit: one batch in, one durable transaction, one reply out. If anything in the
 * batch throws, nothing of it is kept and every caller gets the error. Only when COMMIT itself fails is that not
 * certain: the commit may be in the log already, and a crash before the next write would bring it back.
 */
declare const self: Worker;

export function runWriterLoop(
  migrations: readonly MigrationSet[],
  prepareOperations: (database: Database) => Operations,
): void {
  const reply = (message: BatchReply): void => self.postMessage(message);
  self.onmessage = ({ data: path }: MessageEvent<string>) => {
    try {
      const database = openForWriting(path);
      for (const set of migrations) migrate(database, set);
      const operations = prepareOperations(database);
      const transaction = { begin: database.prepare('BEGIN IMMEDIATE'), commit: database.prepare('COMMIT') };
      self.onmessage = ({ data }: MessageEvent<BatchRequest>) =>
        reply(runBatch(database, transaction, operations, data));
      reply({ kind: 'ready' });
    } catch (error) {
      reply(failure(error, 'none'));
    }
  };
}

function runBatch(
  database: Database,
  { begin, commit }: { readonly begin: Statement; readonly commit: Statement },
  operations: Operations,
  batch: BatchRequest,
): BatchReply {
  let isCommitting = false;
  try {
    withBusyRetry(() => begin.run());
    const results = batch.calls.map(({ name, input }) => {
      const operation = operations[name];
      if (operation === undefined) throw new Error(`unknown operation ${name}`);
      return operation(input);
    });
    isCommitting = true;
    withBusyRetry(() => commit.run());
    return { kind: 'committed', results };
  } catch (error) {
    // SQLite keeps the transaction open when it has not begun to commit it, and ends it when it failed half-way.
    const isInDoubt = isCommitting && !database.inTransaction;
    if (database.inTransaction) database.run('ROLLBACK');
    return failure(error, isInDoubt ? 'unknown' : 'none');
  }
}

function failure(error: unknown, outcome: Outcome): BatchReply {
  const { message, code } = error as { message?: string; code?: string };
  return { kind: 'failed', message: message ?? String(error), code, outcome };
}
