/**
 * Clicks that wait for their stream, in the order they came. While the stream accepts them they are here for a moment.
 * When it does not, they stay in memory for a while, because most outages are short. Then the oldest are spilled to
 * disk, where they survive a kill. When the spill is full, or the disk fails too, the oldest are dropped and counted by
 * reason. Spilled clicks are always older than those in memory.
 *
 * For one caller at a time: `next` returns the same batch until it is done.
 */
import type { Clock } from '../base/clock.ts';
import { type ClickBatch, clickCount, oldestIn } from './click.ts';
import { batchFault } from './frame.ts';
import { type LogWriter, livingProducers, type ProducerHead } from './log.ts';
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
 * Why clicks were dropped: nothing could be spilled and memory was full, the spill itself was full, or they are not
 * valid, for example because the machine's clock is decades off; invalid clicks would block all later ones.
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
  /** The producer that recorded it: this process, or a dead one that left it behind. */
  readonly producer: string;
  /** Must be called once the batch is stored. */
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

  /** The time of the oldest click in the next batches, ours and a dead producer's; undefined when none waits. */
  get waitingSince(): number | undefined {
    const { spill } = this.#options;
    const own = spill.peekOwn()?.batch ?? this.#memory[0]?.batch;
    const next = [own, spill.peekInherited()?.batch].filter(batch => batch !== undefined);
    return next.length === 0 ? undefined : oldestIn(next);
  }

  /** True when other processes have spilled clicks too; they may be dead by now. */
  get mayInherit(): boolean {
    return this.#options.spill.hasOthers();
  }

  /** Takes over batches whose owner is no longer alive. */
  inherit(living: ReadonlySet<string>): void {
    this.#options.spill.inherit(living);
  }

  push(batch: ClickBatch): void {
    if (!this.#isValid(batch)) return;
    this.#memory.push({ batch, sinceMs: this.#options.clock.monotonicMs() });
    this.#clicksInMemory += clickCount(batch);
  }

  /** The batch to store next: ours in order, then those that dead producers left. */
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

  /**
   * Spills clicks that are too many or too old for memory, and drops those that cannot be kept. Clicks behind spilled
   * ones are spilled at once: they cannot be stored before these, and a kill loses only clicks in memory.
   */
  keepWithinBounds(): void {
    const { memoryClicksMax, memoryMs, refusedClicksMax, spilledAtOnceMax } = this.#bounds;
    const { clock, spill } = this.#options;
    const spillBeforeMs = spill.hasOwn ? Number.POSITIVE_INFINITY : clock.monotonicMs() - memoryMs;
    this.#spillWhile(
      oldest => this.#clicksInMemory > memoryClicksMax || oldest.sinceMs <= spillBeforeMs,
      spilledAtOnceMax,
    );
    while (this.#clicksInMemory > refusedClicksMax) this.#droppedFromMemory += this.#takeOldest();
  }

  /** Spills everything in memory, before the process ends. */
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

  /** A batch that no stream accepts is dropped at once: waiting would not make it valid. */
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

/**
 * Writes batches to the stream: new ones at once, and round by round those that piled up during an outage, ours and
 * those of dead producers. A round is bounded and ends at the first failure, so new clicks are accepted whatever the
 * state of the stream; `ClickBacklog` bounds the waiting ones.
 */
export interface BacklogWriterOptions<Place> {
  readonly stream: WrittenLog<Place>;
  readonly backlog: ClickBacklog;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

/** A stream to append to, and the producers whose spilled clicks we may inherit. */
export interface WrittenLog<Place> extends Pick<LogWriter<Place>, 'append'> {
  producers(): Promise<ProducerHead[]>;
}

/** A batch that is in the stream now, with its place. */
export interface StoredBatch<Place> {
  readonly place: Place;
  readonly producer: string;
  readonly batch: ClickBatch;
}

export interface LogWriterCounts extends BacklogCounts {
  /** Clicks written to the stream by this process. */
  readonly stored: number;
  /** Whether the last attempt to write to the stream failed. */
  readonly isStreamDown: boolean;
}

/** How many batches are stored in one go, so that new clicks are accepted in between. */
const batchesAtOnceMax = 64;
const roundMaxMs = 200;
/** A stream that takes long to fail is retried less often, because new clicks wait during each attempt. */
const retryPauseFactor = 9;
const retryPauseMaxMs = 30_000;
/** How often spills of dead producers are looked for. */
const inheritPeriodMs = 2_000;

export class BacklogWriter<Place> {
  readonly #options: BacklogWriterOptions<Place>;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #inheritedAtMs = Number.NEGATIVE_INFINITY;
  #stored = 0;
  #isDown = false;

  constructor(options: BacklogWriterOptions<Place>) {
    this.#options = options;
  }

  get counts(): LogWriterCounts {
    return { stored: this.#stored, isStreamDown: this.#isDown, ...this.#options.backlog.counts };
  }

  /** See `ClickBacklog.waitingSince`. */
  get waitingSince(): number | undefined {
    return this.#options.backlog.waitingSince;
  }

  /** Accepts a new batch and returns the batches that it stored. */
  async write(batch: ClickBatch): Promise<StoredBatch<Place>[]> {
    const { backlog } = this.#options;
    backlog.push(batch);
    // Spilled batches are stored first, by rounds: a caller with new clicks does not wait for them.
    const { stored } = backlog.isSpilled ? { stored: [] } : await this.#storeSome();
    backlog.keepWithinBounds();
    return stored;
  }

  /** Stores some of the waiting batches, oldest first, and returns them. */
  async round(): Promise<StoredBatch<Place>[]> {
    await this.#inherit();
    const { stored } = await this.#storeSome();
    this.#options.backlog.keepWithinBounds();
    return stored;
  }

  /** Stores as many batches as it can and returns them; the rest goes to disk, for the next process. */
  async finish(): Promise<StoredBatch<Place>[]> {
    const { backlog } = this.#options;
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
    let { stored, mayStoreMore } = await this.#storeSome();
    backlog.spillAll();
    // It is worth waiting only for batches that the disk does not accept.
    while (backlog.isInMemory && mayStoreMore) {
      const next = await this.#storeSome();
      stored = [...stored, ...next.stored];
      mayStoreMore = next.mayStoreMore;
    }
    return stored;
  }

  async #storeSome(): Promise<{ stored: StoredBatch<Place>[]; mayStoreMore: boolean }> {
    const { backlog, clock, onProblem } = this.#options;
    const startedMs = clock.monotonicMs();
    const stored: StoredBatch<Place>[] = [];
    if (startedMs < this.#retryAtMs) return { stored, mayStoreMore: false };
    while (stored.length < batchesAtOnceMax) {
      const beganMs = clock.monotonicMs();
      if (beganMs - startedMs >= roundMaxMs) break;
      const waiting = backlog.next();
      if (waiting === undefined) return { stored, mayStoreMore: false };
      try {
        stored.push(await this.#append(waiting));
      } catch (error) {
        onProblem('the click stream cannot be written', error);
        this.#isDown = true;
        const failedMs = clock.monotonicMs();
        this.#retryAtMs = failedMs + Math.min(retryPauseMaxMs, (failedMs - beganMs) * retryPauseFactor);
        return { stored, mayStoreMore: false };
      }
    }
    return { stored, mayStoreMore: true };
  }

  async #append({ batch, producer, done }: Waiting): Promise<StoredBatch<Place>> {
    const place = await this.#options.stream.append(batch, producer);
    done();
    this.#isDown = false;
    this.#stored += clickCount(batch);
    return { place, producer, batch };
  }

  /** Takes over the spills of producers that died, so that their clicks are stored with ours. */
  async #inherit(): Promise<void> {
    const { backlog, stream, clock, onProblem } = this.#options;
    if (clock.monotonicMs() - this.#inheritedAtMs < inheritPeriodMs) return;
    this.#inheritedAtMs = clock.monotonicMs();
    if (!backlog.mayInherit) return;
    try {
      backlog.inherit(await livingProducers(stream));
    } catch (error) {
      onProblem('the owners of leftover spilled clicks cannot be read', error);
    }
  }
}
