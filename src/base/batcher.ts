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

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly sinceMs: number;
  readonly resolve: (result: Result | Promise<Result>) => void;
  readonly reject: (error: unknown) => void;
}

/** How long a few items wait for a batch in flight: about as long as an engine nearby takes to answer. */
const gatherMaxMs = 2;

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #inFlight = 0;
  #isStarting = false;
  #cancelGathering: (() => void) | undefined;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#options.waitingMax;
  }

  add(item: Item): Promise<Result> {
    if (this.isFull) return Promise.reject(this.#options.full());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, sinceMs: this.#options.clock.monotonicMs(), resolve, reject });
      if (!this.#isStarting && this.#mayStart) this.#startSoon();
    });
  }

  get #isWorthIt(): boolean {
    return this.#inFlight === 0 || this.#waiting.length >= (this.#options.batchMin ?? 1);
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
    while (this.#waiting.length > 0 && this.#mayStart) void this.#runNext();
  }

  async #runNext(): Promise<void> {
    const { clock, run, batchMax } = this.#options;
    const batch = this.#waiting.splice(0, batchMax);
    this.#inFlight += 1;
    try {
      const results = await run(
        batch.map(({ item }) => item),
        clock.monotonicMs() - batch[0]!.sinceMs,
      );
      this.#end();
      batch.forEach(({ resolve }, index) => void resolve(results[index]!));
    } catch (error) {
      this.#end();
      for (const { reject } of batch) reject(error);
    }
  }

  /** Starts the next batch before the results of this one are used. */
  #end(): void {
    this.#inFlight -= 1;
    this.#start();
  }
}
