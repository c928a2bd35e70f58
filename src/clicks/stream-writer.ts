/**
 * Brings batches into the stream: new ones at once, and round by round what has piled up while the stream could
 * not be written, ours and that of producers which died. A round is bounded and ends at the first failure, so new
 * clicks are taken in whatever state the stream is in; the backlog bounds what waits (backlog.ts).
 */
import type { Clock } from '../base/clock.ts';
import type { BacklogCounts, ClickBacklog, Waiting } from './backlog.ts';
import { type ClickBatch, clickCount } from './batch.ts';
import { type ClickSink, livingProducers, type ProducerHead } from './stream.ts';

export interface StreamWriterOptions<Place> {
  readonly stream: WrittenStream<Place>;
  readonly backlog: ClickBacklog;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
}

/** A stream to append to, and the producers that may leave something behind for us. */
export interface WrittenStream<Place> extends Pick<ClickSink<Place>, 'append'> {
  producers(): Promise<ProducerHead[]>;
}

/** A batch that is in the stream now, and where. */
export interface StoredBatch<Place> {
  readonly place: Place;
  readonly producer: string;
  readonly batch: ClickBatch;
}

export interface StreamWriterCounts extends BacklogCounts {
  /** Clicks written to the stream by this process. */
  readonly stored: number;
  /** Whether the last attempt to write to it failed. */
  readonly isStreamAway: boolean;
}

/** Done in one go, so that new clicks are taken in between. */
const batchesAtOnceMax = 64;
const roundMaxMs = 200;
/** A stream that takes long to fail is tried the less often: new clicks wait while it is. */
const retryPauseFactor = 9;
const retryPauseMaxMs = 30_000;
/** How often spills of dead producers are looked for. */
const inheritPeriodMs = 2_000;

export class StreamWriter<Place> {
  readonly #options: StreamWriterOptions<Place>;
  #retryAtMs = Number.NEGATIVE_INFINITY;
  #inheritedAtMs = Number.NEGATIVE_INFINITY;
  #stored = 0;
  #isAway = false;

  constructor(options: StreamWriterOptions<Place>) {
    this.#options = options;
  }

  get counts(): StreamWriterCounts {
    return { stored: this.#stored, isStreamAway: this.#isAway, ...this.#options.backlog.counts };
  }

  /** Takes a new batch and returns what it has stored. */
  async write(batch: ClickBatch): Promise<StoredBatch<Place>[]> {
    const { backlog } = this.#options;
    backlog.push(batch);
    // What is spilled comes first, and in rounds: whoever brings clicks does not wait for it.
    const { stored } = backlog.isSpilled ? { stored: [] } : await this.#storeSome();
    backlog.keepWithinBounds();
    return stored;
  }

  /** Stores some of what waits, oldest first, and returns it. */
  async round(): Promise<StoredBatch<Place>[]> {
    await this.#inherit();
    const { stored } = await this.#storeSome();
    this.#options.backlog.keepWithinBounds();
    return stored;
  }

  /** Stores what it can; the rest goes to disk, for the next process. Returns what it has stored. */
  async finish(): Promise<StoredBatch<Place>[]> {
    const { backlog } = this.#options;
    this.#retryAtMs = Number.NEGATIVE_INFINITY;
    let { stored, mayStoreMore } = await this.#storeSome();
    backlog.spillAll();
    // Only what the disk does not take is worth waiting for.
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
        this.#isAway = true;
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
    this.#isAway = false;
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
      onProblem('it is not known whose spilled clicks are left behind', error);
    }
  }
}
