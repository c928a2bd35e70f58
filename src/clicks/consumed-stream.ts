/**
 * What a counter needs of a stream that many count together: partitions that are given to it for a while, messages of
 * them from any position on, and a place to write down what it is about to count.
 *
 * A plan is that writing. It says of a partition up to where everything is counted, and which stretch comes next. Only
 * whom the partition is given to can write it, and whoever has it next reads it before anything else. So a stretch is
 * counted by one, or by several as exactly the same stretch (ADR 13).
 */
import { type ClickBatch, emptyBatch } from './batch.ts';
import type { StreamBatch } from './stream.ts';

export interface CountingGroup {
  /** The term in which we are; throws `NotOurTurn` while partitions are being given out. */
  term(): Promise<CountingTerm>;
  close(): Promise<void>;
}

/** From one giving out of partitions to the next. */
export interface CountingTerm {
  /** False once it is known to be over; it may be over before that. */
  readonly isCurrent: boolean;
  /** The partitions that are ours, with the last plan of each. */
  plans(): Promise<ReadonlyMap<string, Plan>>;
  /** Resolves when it is certain that these are the last plans; otherwise it throws, and the term is over. */
  commit(plans: ReadonlyMap<string, Plan>): Promise<void>;
}

export interface Plan {
  /** Everything before it is counted. */
  readonly from: number;
  /** Where the planned stretch ends; undefined when none is planned. */
  readonly to?: number | undefined;
  /** Where it begins in fact, when what lies between should not be counted: the group was told to begin later. */
  readonly since?: number | undefined;
}

/** Partitions are being given out, or were given to somebody else. It passes, and costs nothing but time. */
export class NotOurTurn extends Error {
  override readonly name = 'NotOurTurn';
}

export interface BlockSource {
  /** What lies in partitions from positions on, of each in order; waits for a moment when there is nothing. */
  take(positions: ReadonlyMap<string, number>, options: TakeOptions): Promise<ReadonlyMap<string, Taken>>;
}

export interface TakeOptions {
  readonly bytesMax: number;
  readonly waitMaxMs: number;
}

export interface Taken {
  readonly items: readonly StreamItem[];
  /** Up to where it was read. There may be less in between than there was: what is unreadable, or no longer kept. */
  readonly to: number;
  /** Where the partition ends at present. */
  readonly end: number;
}

export interface StreamItem {
  readonly position: number;
  /** When it came into the stream. */
  readonly storedAt: number;
  readonly producer: string;
  readonly batch: ClickBatch;
}

/** A stretch without gaps, as warehouses want it: what is missing in it belongs to a neighbour. */
export function stretchOf(
  partition: string,
  from: number,
  to: number,
  items: readonly StreamItem[],
): StreamBatch[] {
  if (items.length === 0) return from < to ? [{ partition, from, to, producer: '', batch: emptyBatch }] : [];
  return items.map(({ producer, batch }, index) => ({
    partition,
    from: index === 0 ? from : items[index]!.position,
    to: items[index + 1]?.position ?? to,
    producer,
    batch,
  }));
}
