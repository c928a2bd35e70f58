/**
 * Clicks that wait for their stream, in the order they came. While the stream takes them they are here for a
 * moment. When it does not, they stay in memory for a little while, because most troubles are short; then the
 * oldest go to disk, where a kill does not reach them; and when the disk is full to its bound, or takes nothing
 * either, the oldest are dropped and counted by reason. What is spilled is always older than what is in memory.
 *
 * One caller at a time: the batch that `next` has given stays the next one until it is done.
 */
import type { Clock } from '../base/clock.ts';
import { type ClickBatch, clickCount } from './batch.ts';
import { batchFault } from './frame.ts';
import type { SpillFolder } from './spill-folder.ts';

export interface BacklogOptions {
  readonly producer: string;
  readonly spill: SpillFolder;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
  readonly bounds?: Partial<BacklogBounds>;
}

export interface BacklogBounds {
  /** Clicks in memory beyond which the oldest are spilled. */
  readonly memoryClicksMax: number;
  /** Time in memory beyond which they are spilled, however few they are. */
  readonly memoryMs: number;
  /** Clicks in memory beyond which the oldest are dropped, because they cannot be spilled. */
  readonly refusedClicksMax: number;
  /** Batches spilled in one go, so that new clicks are taken in between. */
  readonly spilledAtOnceMax: number;
}

/**
 * Why clicks were given up: nothing could be spilled and memory was full, the spill itself was full, or they are not valid,
 * for example because the machine's clock is decades off, and would block whatever comes after them.
 */
export type DropReason = 'memory-full' | 'spill-full' | 'invalid';

export interface BacklogCounts {
  /** Clicks written to the spill by this process. */
  readonly spilled: number;
  /** Bytes in the spill that this process has still to store. */
  readonly spilledBytes: number;
  readonly dropped: Readonly<Record<DropReason, number>>;
}

export interface Waiting {
  readonly batch: ClickBatch;
  /** Who noted it: this process, or a dead one that left it behind. */
  readonly producer: string;
  /** To be called once it is stored. */
  readonly done: () => void;
}

const boundsDefault: BacklogBounds = {
  memoryClicksMax: 32_768,
  memoryMs: 1_000,
  refusedClicksMax: 500_000,
  spilledAtOnceMax: 64,
};

export class ClickBacklog {
  readonly #options: BacklogOptions;
  readonly #bounds: BacklogBounds;
  readonly #memory: { readonly batch: ClickBatch; readonly sinceMs: number }[] = [];
  #clicksInMemory = 0;
  #spilled = 0;
  #droppedFromMemory = 0;
  #invalid = 0;

  constructor(options: BacklogOptions) {
    this.#options = options;
    this.#bounds = { ...boundsDefault, ...options.bounds };
  }

  get counts(): BacklogCounts {
    const { spill } = this.#options;
    return {
      spilled: this.#spilled,
      spilledBytes: spill.bytes,
      dropped: {
        'memory-full': this.#droppedFromMemory,
        'spill-full': spill.dropped,
        invalid: this.#invalid,
      },
    };
  }

  get isInMemory(): boolean {
    return this.#memory.length > 0;
  }

  get isSpilled(): boolean {
    return !this.#options.spill.isEmpty;
  }

  /** True when others have spilled clicks too; they may be dead by now. */
  get mayInherit(): boolean {
    return this.#options.spill.hasOthers();
  }

  /** Makes ours what belongs to nobody who lives. */
  inherit(living: ReadonlySet<string>): void {
    this.#options.spill.inherit(living);
  }

  push(batch: ClickBatch): void {
    if (!this.#isValid(batch)) return;
    this.#memory.push({ batch, sinceMs: this.#options.clock.monotonicMs() });
    this.#clicksInMemory += clickCount(batch);
  }

  /** The batch to store next: ours in order, then what dead producers left. */
  next(): Waiting | undefined {
    const { spill, producer } = this.#options;
    for (let own = spill.peekOwn(); own !== undefined; own = spill.peekOwn()) {
      if (this.#isValid(own.batch)) return { ...own, done: () => spill.shiftOwn() };
      spill.shiftOwn();
    }
    const [oldest] = this.#memory;
    if (oldest !== undefined) return { batch: oldest.batch, producer, done: () => void this.#takeOldest() };
    for (let left = spill.peekInherited(); left !== undefined; left = spill.peekInherited()) {
      if (this.#isValid(left.batch)) return { ...left, done: () => spill.shiftInherited() };
      spill.shiftInherited();
    }
    return undefined;
  }

  /** Spills what is too much or too old for memory, and drops what cannot be kept. */
  keepWithinBounds(): void {
    const { memoryClicksMax, memoryMs, refusedClicksMax, spilledAtOnceMax } = this.#bounds;
    const spillBeforeMs = this.#options.clock.monotonicMs() - memoryMs;
    this.#spillWhile(
      oldest => this.#clicksInMemory > memoryClicksMax || oldest.sinceMs <= spillBeforeMs,
      spilledAtOnceMax,
    );
    while (this.#clicksInMemory > refusedClicksMax) this.#droppedFromMemory += this.#takeOldest();
  }

  /** Spills all there is in memory, before the process ends. */
  spillAll(): void {
    this.#spillWhile(() => true, this.#memory.length);
    if (this.#memory.length === 0) this.#options.spill.close();
  }

  #spillWhile(isDue: (oldest: { readonly sinceMs: number }) => boolean, batchesMax: number): void {
    const { spill, onProblem } = this.#options;
    if (!spill.isAllowed) return;
    try {
      for (let count = 0; count < batchesMax; count += 1) {
        const [oldest] = this.#memory;
        if (oldest === undefined || !isDue(oldest)) return;
        spill.push(oldest.batch);
        this.#spilled += this.#takeOldest();
      }
    } catch (error) {
      onProblem('clicks cannot be spilled to disk', error);
    }
  }

  /** What no stream takes is dropped at once: waiting would not make it valid. */
  #isValid(batch: ClickBatch): boolean {
    const fault = batchFault(batch);
    if (fault === undefined) return true;
    this.#invalid += clickCount(batch);
    this.#options.onProblem('clicks are not valid and are dropped', new Error(fault));
    return false;
  }

  #takeOldest(): number {
    const clicks = clickCount(this.#memory.shift()!.batch);
    this.#clicksInMemory -= clicks;
    return clicks;
  }
}
