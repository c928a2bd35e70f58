/**
 * Work on many items at once. Items that arrive while batches are in flight go together into the next one; none waits
 * to be batched, and none joins a batch that has started. The bound on waiting items is the caller's rejection.
 */
import type { Clock } from './clock.ts';

export interface BatcherOptions<Item, Result> {
  readonly clock: Clock;
  /** One result for each item, in order. A failure is that of all of them. */
  readonly run: (items: readonly Item[], waitedMs: number) => Promise<readonly Result[]>;
  /** Items in a batch. */
  readonly batchMax: number;
  /** Batches in flight at once; one unless given. */
  readonly batchesMax?: number;
  readonly waitingMax: number;
  /** The error of an item that finds too many waiting. */
  readonly full: () => Error;
}

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Batcher<Item, Result> {
  readonly #options: BatcherOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #waitingSinceMs = 0;
  #inFlight = 0;

  constructor(options: BatcherOptions<Item, Result>) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#waiting.length >= this.#options.waitingMax;
  }

  add(item: Item): Promise<Result> {
    if (this.isFull) return Promise.reject(this.#options.full());
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) this.#waitingSinceMs = this.#options.clock.monotonicMs();
      this.#waiting.push({ item, resolve, reject });
      if (this.#inFlight < (this.#options.batchesMax ?? 1)) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#inFlight += 1;
    while (this.#waiting.length > 0) await this.#runNext();
    this.#inFlight -= 1;
  }

  async #runNext(): Promise<void> {
    const { clock, run, batchMax } = this.#options;
    const batch = this.#waiting.splice(0, batchMax);
    try {
      const results = await run(
        batch.map(({ item }) => item),
        clock.monotonicMs() - this.#waitingSinceMs,
      );
      batch.forEach(({ resolve }, index) => void resolve(results[index]!));
    } catch (error) {
      for (const { reject } of batch) reject(error);
    }
  }
}
