/**
 * The state of one partition in a consumer: the messages that are read and not counted, and the planned block, which
 * may not be counted yet. A planned block is counted exactly as planned, to the offset.
 */
import { clickCount } from './click.ts';
import { batchesOf, type LogBatch, type LogItem, type LogPiece } from './log.ts';

export interface BlockBounds {
  /** A block is due when it has this many clicks, or when its first has waited this long. */
  readonly blockClicksMin: number;
  readonly blockMs: number;
  /** A block with fewer clicks than this waits for more, up to this long: its cost hardly depends on its size. */
  readonly blockClicksGood: number;
  readonly smallBlockMs: number;
  /** It ends with the message that brings it to this many clicks. */
  readonly blockClicksMax: number;
}

/** A range of a partition that is counted as a unit. */
export interface Block {
  readonly consumed: ConsumedPartition;
  readonly from: number;
  readonly to: number;
  readonly clicks: number;
  readonly batches: readonly LogBatch[];
}

export class ConsumedPartition {
  readonly partition: string;
  /** Everything before it is counted. */
  #next: number;
  /** The end of the block that is planned and not counted. */
  #plannedTo: number | undefined;
  /** Where counting begins, until the first block is counted. */
  #since: number | undefined;
  #items: LogItem[] = [];
  #readTo: number;
  #end: number;
  #waitingSinceMs: number | undefined;
  /** When the last counted message was written to the stream. */
  #countedAt: number | undefined;
  /** The last committed plan names a block, which may be counted by now. */
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

  /**
   * When the oldest uncounted message was written to the stream, or the last counted one if the oldest is not read yet;
   * undefined when all are counted.
   */
  get oldestAt(): number | undefined {
    return this.#items[0]?.storedAt ?? (this.lag > 0 ? this.#countedAt : undefined);
  }

  /** Whether the planned block is not read completely yet; reading it comes before anything else. */
  get mustRead(): boolean {
    return this.#plannedTo !== undefined && this.#readTo < this.#plannedTo;
  }

  /** A block is planned and not counted. */
  get isPlanned(): boolean {
    return this.#plannedTo !== undefined;
  }

  /** The planned block is counted, and the committed plan still names it. */
  get isPlanStale(): boolean {
    return this.#isPlanOpen && this.#plannedTo === undefined;
  }

  /** The counted offset while nothing waits to be counted; otherwise undefined. */
  get restsAt(): number | undefined {
    return this.#items.length === 0 && this.#plannedTo === undefined && this.#since === undefined
      ? this.#next
      : undefined;
  }

  add({ items, to, end }: LogPiece, nowMs: number): void {
    if (to > this.#readTo) this.#waitingSinceMs ??= nowMs;
    this.#items.push(...items.filter(({ offset }) => offset >= this.#readTo));
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

  /** The plan to commit before a block is counted, or if there is none. */
  planOf(block: Block | undefined): Plan {
    if (block === undefined) return { from: this.#next, since: this.#since };
    return { from: block.from, to: block.to, since: this.#since };
  }

  /** The plan of this block is committed: it will be counted exactly as planned, by us or by another process. */
  planned(block: Block | undefined): void {
    this.#plannedTo = block?.to;
    this.#isPlanOpen = block !== undefined;
  }

  /** A block is counted up to here. */
  counted(to: number, nowMs: number): void {
    this.#next = to;
    this.#plannedTo = undefined;
    this.#since = undefined;
    this.#countedAt = this.#items.findLast(({ offset }) => offset < to)?.storedAt ?? this.#countedAt;
    this.#items = this.#items.filter(({ offset }) => offset >= to);
    this.#readTo = Math.max(this.#readTo, to);
    this.#waitingSinceMs = this.#readTo > to ? nowMs : undefined;
  }

  /** The warehouse is at another position than expected: reading starts again from there. */
  goTo(position: number): void {
    this.#next = position;
    this.#plannedTo = undefined;
    this.#since = undefined;
    this.#items = [];
    this.#readTo = position;
    this.#waitingSinceMs = undefined;
  }

  #blockTo(to: number): Block {
    const items = this.#items.filter(({ offset }) => offset < to);
    const batches = batchesOf(this.partition, this.#next, to, items);
    return { consumed: this, from: this.#next, to, clicks: clicksIn(items), batches };
  }

  #endOfBlock(clicksMax: number): number {
    let clicks = 0;
    for (const { offset, batch } of this.#items) {
      clicks += clickCount(batch);
      if (clicks >= clicksMax) return offset + 1;
    }
    return this.#readTo;
  }
}

const clicksIn = (items: readonly LogItem[]): number =>
  items.reduce((clicks, { batch }) => clicks + clickCount(batch), 0);

/**
 * The part of a stream that a consumer needs when several processes count it together: the partitions that are assigned
 * to it for a while, and a place to record what it is about to count.
 *
 * That record is called a plan. It says up to where a partition is counted, and which block comes next. Only the
 * current owner of the partition can write it, and the next owner reads it first. So a block is counted by one process,
 * or by several as exactly the same block (ADR 13).
 */
export interface CountingGroup {
  /** The current term; throws `NotOurTurn` while partitions are being assigned. */
  term(): Promise<CountingTerm>;
  close(): Promise<void>;
}

/** The time from one assignment of partitions to the next. */
export interface CountingTerm {
  /** False once the term is known to be over; it may be over earlier. */
  readonly isCurrent: boolean;
  /** The partitions that are ours, with the last plan of each. */
  plans(): Promise<ReadonlyMap<string, Plan>>;
  /** Resolves when it is certain that these are the last plans; otherwise it throws, and the term is over. */
  commit(plans: ReadonlyMap<string, Plan>): Promise<void>;
}

export interface Plan {
  /** Everything before it is counted. */
  readonly from: number;
  /** Where the planned block ends; undefined when none is planned. */
  readonly to?: number | undefined;
  /**
   * Where the block actually begins, if the group is configured to skip the messages before.
   */
  readonly since?: number | undefined;
}

/** Partitions are being assigned, or were assigned to another process. This is transient. */
export class NotOurTurn extends Error {
  override readonly name = 'NotOurTurn';
}
