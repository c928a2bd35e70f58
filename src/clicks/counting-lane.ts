/**
 * What a counter holds of one partition: what it has read and not counted, and the stretch that was planned and may
 * not be counted yet. A stretch that somebody planned is counted as it was planned, to the position.
 */
import { clickCount } from './batch.ts';
import { type Plan, type StreamItem, stretchOf, type Taken } from './consumed-stream.ts';
import type { StreamBatch } from './stream.ts';

export interface BlockBounds {
  /** A block is due when it has so many clicks, or when its first has waited for so long. */
  readonly blockClicksMin: number;
  readonly blockMs: number;
  /** One with fewer clicks than this waits for more, and so long at most: what a block costs hardly depends on its size. */
  readonly blockClicksGood: number;
  readonly smallBlockMs: number;
  /** It ends with the message that brings it to so many clicks. */
  readonly blockClicksMax: number;
}

/** A stretch of a partition that is counted in one piece. */
export interface Block {
  readonly lane: CountingLane;
  readonly from: number;
  readonly to: number;
  readonly clicks: number;
  readonly batches: readonly StreamBatch[];
}

export class CountingLane {
  readonly partition: string;
  /** Everything before it is counted. */
  #next: number;
  /** The end of a stretch that is planned and not counted. */
  #plannedTo: number | undefined;
  /** Where what should be counted begins, until the first stretch is. */
  #since: number | undefined;
  #items: StreamItem[] = [];
  #readTo: number;
  #end: number;
  #waitingSinceMs: number | undefined;
  /** When the last message that is counted came into the stream. */
  #countedAt: number | undefined;
  /** The last plan that was committed names a stretch, which may be counted by now. */
  #isPlanOpen: boolean;

  constructor(partition: string, { from, to, since }: Plan) {
    this.partition = partition;
    this.#next = from;
    this.#plannedTo = to;
    this.#since = since;
    this.#readTo = Math.max(from, since ?? 0);
    this.#end = this.#readTo;
    this.#isPlanOpen = to !== undefined;
  }

  get position(): number {
    return this.#readTo;
  }

  get clicks(): number {
    return clicksIn(this.#items);
  }

  /** Messages that are in the partition and not counted. */
  get lag(): number {
    return Math.max(0, this.#end - Math.max(this.#next, this.#since ?? 0));
  }

  /** When the oldest message that is not counted came into the stream, or the last that is; undefined when all are. */
  get oldestAt(): number | undefined {
    return this.#items[0]?.storedAt ?? (this.lag > 0 ? this.#countedAt : undefined);
  }

  /** Whether a planned stretch has still to be read, which comes before anything else. */
  get mustRead(): boolean {
    return this.#plannedTo !== undefined && this.#readTo < this.#plannedTo;
  }

  /** A stretch is planned and not counted. */
  get isPlanned(): boolean {
    return this.#plannedTo !== undefined;
  }

  /** Counted, and the plan still names it. */
  get isPlanStale(): boolean {
    return this.#isPlanOpen && this.#plannedTo === undefined;
  }

  /** Up to where it is counted, while nothing waits to be; undefined while something does. */
  get restsAt(): number | undefined {
    return this.#items.length === 0 && this.#plannedTo === undefined && this.#since === undefined
      ? this.#next
      : undefined;
  }

  add({ items, to, end }: Taken, nowMs: number): void {
    if (to > this.#readTo) this.#waitingSinceMs ??= nowMs;
    this.#items.push(...items.filter(({ position }) => position >= this.#readTo));
    this.#readTo = Math.max(this.#readTo, to);
    this.#end = Math.max(this.#readTo, end);
  }

  /** The block to count next, if one is due. */
  due(nowMs: number, bounds: BlockBounds): Block | undefined {
    if (this.#plannedTo !== undefined) return this.mustRead ? undefined : this.#blockTo(this.#plannedTo);
    if (this.#waitingSinceMs === undefined) return undefined;
    const waitMaxMs = this.clicks >= bounds.blockClicksGood ? bounds.blockMs : bounds.smallBlockMs;
    const isDue = this.clicks >= bounds.blockClicksMin || nowMs - this.#waitingSinceMs >= waitMaxMs;
    return isDue ? this.#blockTo(this.#endOfBlock(bounds.blockClicksMax)) : undefined;
  }

  /** What to commit before a block is counted, and what when there is none. */
  planOf(block: Block | undefined): Plan {
    if (block === undefined) return { from: this.#next, since: this.#since };
    return { from: block.from, to: block.to, since: this.#since };
  }

  /** The plan of this block is committed: it will be counted as it is, by us or by others. */
  planned(block: Block | undefined): void {
    this.#plannedTo = block?.to;
    this.#isPlanOpen = block !== undefined;
  }

  /** A block is counted up to here. */
  counted(to: number, nowMs: number): void {
    this.#next = to;
    this.#plannedTo = undefined;
    this.#since = undefined;
    this.#countedAt = this.#items.findLast(({ position }) => position < to)?.storedAt ?? this.#countedAt;
    this.#items = this.#items.filter(({ position }) => position >= to);
    this.#readTo = Math.max(this.#readTo, to);
    this.#waitingSinceMs = this.#readTo > to ? nowMs : undefined;
  }

  /** Whoever keeps the counts stands elsewhere than we thought: everything is read again from there. */
  goTo(position: number): void {
    this.#next = position;
    this.#plannedTo = undefined;
    this.#since = undefined;
    this.#items = [];
    this.#readTo = position;
    this.#waitingSinceMs = undefined;
  }

  #blockTo(to: number): Block {
    const items = this.#items.filter(({ position }) => position < to);
    const batches = stretchOf(this.partition, this.#next, to, items);
    return { lane: this, from: this.#next, to, clicks: clicksIn(items), batches };
  }

  #endOfBlock(clicksMax: number): number {
    let clicks = 0;
    for (const { position, batch } of this.#items) {
      clicks += clickCount(batch);
      if (clicks >= clicksMax) return position + 1;
    }
    return this.#readTo;
  }
}

const clicksIn = (items: readonly StreamItem[]): number =>
  items.reduce((clicks, { batch }) => clicks + clickCount(batch), 0);
