/**
 * Replays the clicks of a time span from the stream. Reading begins with messages from the start of the span, since no
 * click is written before it happens, and continues to the counted position, since spilled clicks come late. All copies
 * of a click are in that range, so duplicates are recognised within it.
 *
 * Invariant: a replay returns each click of the span once, and none beyond the counted position.
 */
import { type Clock, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { type ClickBatch, clickCount } from './click.ts';
import { batchesOf, type ClickLog, type LogBatch, LogUnavailable, readOn } from './log.ts';
import { grainMs, type Warehouse } from './warehouse.ts';

/** Whole hours or days, the last one exclusive. */
export interface TimeSpan {
  readonly from: number;
  readonly to: number;
}

/** The whole UTC days that a span touches: counts are kept per day, so they are recounted per day. */
export const wholeDays = ({ from, to }: TimeSpan): TimeSpan => ({
  from: Math.floor(from / dayMs) * dayMs,
  to: Math.ceil(to / dayMs) * dayMs,
});

export interface NumberedBatch {
  /** The producer that numbered it. */
  readonly producer: string;
  readonly batch: ClickBatch;
}

/** The wanted clicks of a batch, by their positions in it. */
export interface PickedClicks extends NumberedBatch {
  readonly rows: Uint32Array;
}

export const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
export const hourOf = (at: number): number => Math.floor(at / hourMs) * hourMs;
/** Clocks may be set back by a little between a click and its writing. */
export const clockSlackMs = 5 * 60_000;
const readBytesMax = 4 * 1024 * 1024;

export type ReplayedLog = Pick<ClickLog, 'read' | 'offsetsAt' | 'retention' | 'isOwn'>;

export class SpanReplay {
  readonly span: TimeSpan;
  readonly #log: ReplayedLog;
  readonly #clock: Clock;
  readonly #reached = new Map<string, number>();
  readonly #newest = new Map<string, number>();
  readonly #hours = new Map<string, HourOfProducer>();

  constructor(log: ReplayedLog, span: TimeSpan, clock: Clock = systemClock) {
    this.#log = log;
    this.#clock = clock;
    this.span = span;
  }

  /** The clicks that were read so far, by hour and producer. */
  get hours(): Iterable<HourOfProducer> {
    return this.#hours.values();
  }

  clicksIn({ from, to }: TimeSpan): number {
    let sum = 0;
    for (const { hour, clicks } of this.#hours.values()) if (hour >= from && hour < to) sum += clicks;
    return sum;
  }

  /**
   * Whether all clicks of the span that were counted up to these positions are still in the stream. If another stream
   * was counted before, its clicks are not.
   */
  async isKept(positions: ReadonlyMap<string, number>, earliest: number | undefined): Promise<boolean> {
    const { keptSince, begunAt } = await this.#log.retention();
    // A recount of everything drops the positions of the other stream and keeps its counts.
    const isOnly =
      [...positions.keys()].every(partition => this.#log.isOwn(partition)) &&
      (earliest === undefined || earliest >= begunAt - (begunAt % dayMs));
    return Math.max(keptSince, isOnly ? 0 : begunAt) <= this.span.from;
  }

  /** Call it after reading: the log may have dropped its oldest part meanwhile. */
  async requireKept(): Promise<void> {
    const { keptSince } = await this.#log.retention();
    if (keptSince > this.span.from) throw new Problem('clicks_not_kept');
  }

  hasReached(positions: ReadonlyMap<string, number>): boolean {
    return [...positions].every(([partition, end]) => (this.#reached.get(partition) ?? -1) >= end);
  }

  /** Continues where the last call ended, up to these positions. */
  async *upTo(positions: ReadonlyMap<string, number>): AsyncGenerator<PickedClicks[]> {
    if (this.hasReached(positions)) return;
    const starts = await this.#log.offsetsAt(this.span.from - clockSlackMs);
    // The logs of a producer follow each other by name.
    for (const partition of [...positions.keys()].sort()) {
      const end = positions.get(partition)!;
      const start = this.#reached.get(partition) ?? starts.get(partition);
      if (start !== undefined) yield* this.#read(partition, start, end);
      this.#reached.set(partition, Math.max(end, this.#reached.get(partition) ?? 0));
    }
  }

  async *#read(partition: string, start: number, end: number): AsyncGenerator<PickedClicks[]> {
    for (let offset = start; offset < end; ) {
      const piece = await readOn(this.#log, {
        partition,
        offset,
        bytesMax: readBytesMax,
        clock: this.#clock,
      });
      const items = piece.items.filter(item => item.offset < end);
      // This part was counted, so it must be readable.
      if (piece.to <= offset) throw new LogUnavailable(`${partition} cannot be read at ${offset}`);
      offset = piece.to;
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
      if (at < from || at >= to) continue;
      rows[wanted++] = row;
      this.#noteHour(producer, hourOf(at));
    }
    this.#newest.set(producer, Math.max(known, batch.firstSequence + count - 1));
    return { producer, batch, rows: rows.subarray(0, wanted) };
  }
  #noteHour(producer: string, hour: number): void {
    const key = `${hour} ${producer}`;
    const known = this.#hours.get(key);
    if (known === undefined) this.#hours.set(key, { hour, producer, clicks: 1 });
    else known.clicks += 1;
  }
}

export interface HourOfProducer {
  readonly hour: number;
  readonly producer: string;
  clicks: number;
}

export interface RecountSource {
  readonly log: Pick<ClickLog, 'partitions' | 'read' | 'isOwn'>;
  /** Since when the log has everything; see `keptFrom`. */
  readonly keptFrom: number | undefined;
  /** The producers that have batches. */
  readonly producers: readonly string[];
  readonly clock: Clock;
  /** Called now and then, so that new clicks can be accepted. */
  readonly onPause?: (() => Promise<void>) | undefined;
}

/**
 * Recounts everything that a log still has and replaces its old counts. Counts older than the log itself stay. The first
 * kept day may hold clicks of the day before, or only some of its own; then the recount starts with the day after it.
 */
export async function recountLog(
  warehouse: Warehouse,
  { log, keptFrom, producers, clock, onPause }: RecountSource,
): Promise<void> {
  const partitions = (await log.partitions()).sort((a, b) => (a.name < b.name ? -1 : 1));
  // The log is empty, so all counts are older than its contents.
  if (partitions.length === 0) return;
  const earliest = await warehouse.earliest();
  const countFrom =
    keptFrom === undefined || earliest === undefined || earliest >= keptFrom ? 0 : dayAfter(keptFrom);
  async function* batches(): AsyncGenerator<LogBatch[]> {
    for (const { name: partition } of partitions) {
      for (let offset = 0; ; ) {
        const piece = await readOn(log, { partition, offset, bytesMax: readBytesMax, clock });
        if (piece.to <= offset) break;
        yield batchesOf(partition, offset, piece.to, piece.items);
        offset = piece.to;
        await onPause?.();
      }
    }
  }
  await warehouse.recountAll({ countFrom, producers }, batches());
}

/** Rejects a log that ends before the offset to which its partitions were counted or archived. */
export async function refuseTruncated(
  log: Pick<ClickLog, 'partitions' | 'isOwn'>,
  reached: ReadonlyMap<string, number>,
): Promise<void> {
  const ends = new Map((await log.partitions()).map(({ name, end }) => [name, end]));
  for (const [name, offset] of reached) {
    const end = ends.get(name) ?? 0;
    if (log.isOwn(name) && end < offset)
      throw new Problem('clicks_not_kept', {
        detail: `${name} ends at ${end} and was read up to ${offset} before: the topic was recreated or has lost clicks, and a recount would lose their counts.`,
      });
  }
}

/**
 * Since when a recount finds all clicks. Counts from before the day on which the log began come from another log.
 * Undefined when the log is empty.
 */
export async function keptFrom(
  log: Pick<ClickLog, 'retention'>,
  partitions?: ReadonlySet<string>,
): Promise<number | undefined> {
  const { begunAt, keptSince } = await log.retention(partitions);
  if (Number.isFinite(begunAt)) return Math.max(keptSince, Math.floor(begunAt / grainMs.day) * grainMs.day);
  return keptSince === 0 ? undefined : keptSince;
}

const dayAfter = (at: number): number => (Math.floor(at / grainMs.day) + 1) * grainMs.day;
