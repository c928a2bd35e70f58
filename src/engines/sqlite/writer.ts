/**
 * Group commit. Writes that arrive while a transaction is being made durable wait together and share the
 * next one, so thousands of creates a second cost a few hundred fsyncs. The transaction runs on a thread of
 * its own (writer-loop.ts): an fsync that takes milliseconds never delays a redirect.
 *
 * A promise returned by `run` resolves only after COMMIT, which is what makes a 201 mean "durable".
 */
import { Problem } from '../../base/errors.ts';

/** What the writer thread can do: each operation runs inside the shared transaction. */
// biome-ignore lint/suspicious/noExplicitAny: the operations' own types are restored by `run`.
export type Operations = Record<string, (input: any) => unknown>;

export interface BatchRequest {
  readonly calls: readonly { readonly name: string; readonly input: unknown }[];
}

export type BatchReply =
  | { readonly kind: 'ready' }
  | { readonly kind: 'committed'; readonly results: readonly unknown[] }
  | { readonly kind: 'failed'; readonly message: string; readonly code: string | undefined };

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
        reject(new Problem('store_unavailable', { cause: this.#failure }));
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
        if (this.#inFlight.length === 0) this.#send();
      }
    });
  }

  /** Waits for what was accepted, then ends the thread. */
  close(): Promise<void> {
    this.#closing ??= this.#drain();
    return this.#closing;
  }

  async #drain(): Promise<void> {
    if (this.#inFlight.length > 0) await new Promise<void>(resolve => (this.#idle = resolve));
    this.#worker.terminate();
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
      const message = reply.kind === 'failed' ? reply.message : 'unexpected reply of the writer thread';
      const error = new Problem('store_unavailable', { cause: new Error(message) });
      for (const call of calls) call.reject(error);
    }
    if (this.#pending.length > 0) this.#send();
    else this.#idle?.();
  }

  #die(error: Error): void {
    this.#failure = error;
    const calls = [...this.#inFlight, ...this.#pending];
    this.#inFlight = [];
    this.#pending = [];
    for (const call of calls) call.reject(new Problem('store_unavailable', { cause: error }));
    this.#idle?.();
  }
}
