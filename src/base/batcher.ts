/**
 * Work on many items at once. Items of the same turn of the event loop go together, and so do those that arrive while
 * as many batches as allowed are in flight. Fewer than `batchMin` also wait while any is in flight, but not for long: a
 * batch that is stuck must not hold them up. No item joins a batch that has started. Items beyond `waitingMax` are
 * rejected.
 */
import { atEndOfTurn, type Clock } from './clock.ts';

export interface BatcherOptions<Item, Result> {
  readonly clock: Clock;
  /** One result for each item, in order; a promise for a result that comes later. An error rejects all items. */
  readonly run: (items: readonly Item[], waitedMs: number) => Promise<readonly (Result | Promise<Result>)[]>;
  /** Items in a batch. */
  readonly batchMax: number;
  /** Batches in flight at once; one unless given. */
  readonly batchesMax?: number;
  /** Items that are worth a batch while another is in flight; any number unless given. */
  readonly batchMin?: number;
  readonly waitingMax: number;
  /** The error of an item that finds too many waiting. */
  readonly full: () => Error;
}

/** Items that go together, with one promise for all of them: a thousand of them wait at a time. */
interface Batch<Item, Result> {
  readonly items: Item[];
  readonly sinceMs: number;
  readonly results: PromiseWithResolvers<readonly (Result | Promise<Result>)[]>;
}

/** How long a few items wait for a batch in flight: about as long as an engine nearby takes to answer. */
const gatherMaxMs = 2;

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  /** In order; only the last has room for more. */
  readonly #batches: Batch<Item, Result>[] = [];
  #waiting = 0;
  #inFlight = 0;
  #isStarting = false;
  #cancelGathering: (() => void) | undefined;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#waiting >= this.#options.waitingMax;
  }

  add(item: Item): Promise<Result> {
    if (this.isFull) return Promise.reject(this.#options.full());
    let batch = this.#batches.at(-1);
    if (batch === undefined || batch.items.length === this.#options.batchMax) {
      batch = { items: [], sinceMs: this.#options.clock.monotonicMs(), results: Promise.withResolvers() };
      this.#batches.push(batch);
    }
    const place = batch.items.push(item) - 1;
    this.#waiting += 1;
    if (!this.#isStarting && this.#mayStart) this.#startSoon();
    return batch.results.promise.then(results => results[place]!);
  }

  get #isWorthIt(): boolean {
    return this.#inFlight === 0 || this.#waiting >= (this.#options.batchMin ?? 1);
  }

  get #mayStart(): boolean {
    return this.#inFlight < (this.#options.batchesMax ?? 1);
  }

  #startSoon(): void {
    if (!this.#isWorthIt) {
      this.#cancelGathering ??= this.#options.clock.after(gatherMaxMs, () => this.#start());
      return;
    }
    this.#isStarting = true;
    atEndOfTurn(() => {
      this.#isStarting = false;
      this.#start();
    });
  }

  #start(): void {
    this.#cancelGathering?.();
    this.#cancelGathering = undefined;
    while (this.#waiting > 0 && this.#mayStart) void this.#runNext();
  }

  async #runNext(): Promise<void> {
    const { clock, run } = this.#options;
    const { items, sinceMs, results } = this.#batches.shift()!;
    this.#waiting -= items.length;
    this.#inFlight += 1;
    try {
      const found = await run(items, clock.monotonicMs() - sinceMs);
      this.#end();
      results.resolve(found);
    } catch (error) {
      this.#end();
      results.reject(error);
    }
  }

  /** Starts the next batch before the results of this one are used. */
  #end(): void {
    this.#inFlight -= 1;
    this.#start();
  }
}
