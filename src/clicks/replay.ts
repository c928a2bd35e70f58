/**
 * The clicks of a stretch of time, read from the stream once more. Reading begins with what was written when the stretch
 * began, since no click is written before it happens, and goes on to where the counts stand, since clicks that were
 * spilled come late. All copies of a click lie in there, so what was read alone tells which of them is the first.
 *
 * Invariant: a replay gives each click of the stretch once, and none that the counts have not come to.
 */
import { type ClickBatch, clickCount } from './batch.ts';

/** Whole hours, the last one exclusive. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** A stream that can be read again from a time on. */
export interface ReplayableStream {
  /** Where each partition is read from, for clicks of a time and later; partitions without such are left out. */
  positionsAt(time: number): Promise<ReadonlyMap<string, number>>;
  /** A bounded piece of a partition, from a position on, and nothing at or behind `end`. */
  readUntil(partition: string, position: number, end: number): Promise<StreamPiece>;
  /** Everything that was written since then is still there; infinite when nothing is. */
  keptSince(): Promise<number>;
  /** When the first of what is there was written; infinite when nothing is. */
  begunAt(): Promise<number>;
  /** Whether a partition that was counted is one of this stream. */
  isOwn(partition: string): boolean;
}

export interface StreamPiece {
  readonly items: readonly NumberedBatch[];
  /** Up to where it was read. */
  readonly to: number;
}

export interface NumberedBatch {
  /** Who numbered it. */
  readonly producer: string;
  readonly batch: ClickBatch;
}

/** Those clicks of a batch that are wanted, by their places in it. */
export interface PickedClicks extends NumberedBatch {
  readonly rows: Uint32Array;
}

export const hourMs = 60 * 60_000;
export const hourOf = (at: number): number => Math.floor(at / hourMs) * hourMs;
/** Clocks may be set back by a little between a click and its writing. */
const clockSlackMs = 5 * 60_000;
/** A partition may have no leader for a moment; each attempt has a pause of its own. */
const attemptsMax = 50;

export class SpanReplay {
  readonly span: TimeSpan;
  readonly #stream: ReplayableStream;
  readonly #reached = new Map<string, number>();
  readonly #newest = new Map<string, number>();

  constructor(stream: ReplayableStream, span: TimeSpan) {
    this.#stream = stream;
    this.span = span;
  }

  /**
   * Whether all of the stretch that was counted up to these positions is still in the stream. Where another stream was
   * counted before, clicks of its time are not in this one.
   */
  async isKept(positions: ReadonlyMap<string, number>): Promise<boolean> {
    const isOnly = [...positions.keys()].every(partition => this.#stream.isOwn(partition));
    const since = Math.max(await this.#stream.keptSince(), isOnly ? 0 : await this.#stream.begunAt());
    return since <= this.span.from;
  }

  hasReached(positions: ReadonlyMap<string, number>): boolean {
    return [...positions].every(([partition, end]) => (this.#reached.get(partition) ?? -1) >= end);
  }

  /** Goes on from where it ended the last time, up to these positions. */
  async *upTo(positions: ReadonlyMap<string, number>): AsyncGenerator<PickedClicks[]> {
    if (this.hasReached(positions)) return;
    const starts = await this.#stream.positionsAt(this.span.from - clockSlackMs);
    // The logs of a producer follow each other by name.
    for (const partition of [...positions.keys()].sort()) {
      const end = positions.get(partition)!;
      const start = this.#reached.get(partition) ?? starts.get(partition);
      if (start !== undefined) yield* this.#read(partition, start, end);
      this.#reached.set(partition, Math.max(end, this.#reached.get(partition) ?? 0));
    }
  }

  async *#read(partition: string, start: number, end: number): AsyncGenerator<PickedClicks[]> {
    for (let [position, attempt] = [start, 1]; position < end; ) {
      const { items, to } = await this.#stream.readUntil(partition, position, end);
      if (to <= position && attempt >= attemptsMax)
        throw new Error(`${partition} cannot be read at ${position}`);
      attempt = to > position ? 1 : attempt + 1;
      position = Math.max(position, to);
      const picked = items.map(item => this.#pick(item)).filter(({ rows }) => rows.length > 0);
      if (picked.length > 0) yield picked;
    }
  }

  #pick({ producer, batch }: NumberedBatch): PickedClicks {
    const { from, to } = this.span;
    const known = this.#newest.get(producer) ?? 0;
    const count = clickCount(batch);
    const rows = new Uint32Array(count);
    let wanted = 0;
    for (let row = Math.max(0, known - batch.firstSequence + 1); row < count; row += 1) {
      const at = batch.at[row]!;
      if (at >= from && at < to) rows[wanted++] = row;
    }
    this.#newest.set(producer, Math.max(known, batch.firstSequence + count - 1));
    return { producer, batch, rows: rows.subarray(0, wanted) };
  }
}

/** How many clicks each producer has in each hour, under `hour producer`. */
export function addHours(sums: Map<string, HourOfProducer>, { producer, batch, rows }: PickedClicks): void {
  for (const row of rows) {
    const hour = hourOf(batch.at[row]!);
    const key = `${hour} ${producer}`;
    const known = sums.get(key);
    if (known === undefined) sums.set(key, { hour, producer, clicks: 1 });
    else known.clicks += 1;
  }
}

export interface HourOfProducer {
  readonly hour: number;
  readonly producer: string;
  clicks: number;
}
