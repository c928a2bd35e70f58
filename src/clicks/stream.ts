/**
 * The way of a click from whoever noted it to whoever counts it. Appending is durable; reading starts at any
 * position and can be repeated, so the counter keeps its own positions beside its counts and neither loses nor
 * doubles anything. `stream.conformance.ts` is the meaning of this file.
 *
 * A stream has partitions. Within one, batches are in order and a position tells how far a reader has come. In the
 * embedded stream a partition is the log of one producer on one day; in Kafka all producers share the partitions, and
 * whoever appends and whoever reads know different halves of this.
 */
import type { ClickBatch } from './batch.ts';

/** What a producer needs of a stream. */
export interface ClickSink<Place = unknown> {
  /**
   * Resolves when the batch would survive a power cut, with where it lies. When it throws, nobody knows how much of the
   * batch was kept, and it is appended again. A batch that a dead producer left behind is appended in its name, and
   * comes after all it appended itself.
   */
  append(batch: ClickBatch, producer?: string): Promise<Place>;
  close(): Promise<void>;
}

/** What a reader needs of it. */
export interface ClickSource {
  /** Partitions that have something beyond the given positions (none given: from the start). */
  behind(positions: ReadonlyMap<string, number>): Promise<Partition[]>;
  /**
   * What lies in a partition from a position on, at most about `bytesMax` of it. The first batch begins at that position
   * and each following one where the last ended.
   */
  read(partition: string, position: number, bytesMax: number): Promise<StreamBatch[]>;
  close(): Promise<void>;
}

/** A stream whose producers have a log each, and that is kept where it is written. */
export interface ClickStream extends ClickSink<StreamSpan>, ClickSource {
  behind(positions: ReadonlyMap<string, number>): Promise<ProducerLog[]>;
  /** Start of the first UTC day that is still kept; undefined when nothing is. */
  keptFrom(): Promise<number | undefined>;
  /** Remembers for good that a link's clicks before `at` are deleted. */
  markForgotten(code: string, at: number): Promise<void>;
  forgotten(): Promise<ReadonlyMap<string, number>>;
  /** Producers and how far they have numbered their clicks. */
  producers(): Promise<ProducerHead[]>;
}

export interface Partition {
  readonly name: string;
  /** Who alone writes it, where that is so. */
  readonly producer?: string;
}

export interface ProducerLog extends Partition {
  readonly producer: string;
}

export interface StreamSpan {
  readonly partition: string;
  readonly from: number;
  readonly to: number;
}

export interface StreamBatch extends StreamSpan {
  /** Who numbered it: a producer, or one of its pairs (see `pairName`). */
  readonly producer: string;
  readonly batch: ClickBatch;
}

export interface ProducerHead {
  readonly producer: string;
  /** Number of the newest click it noted. */
  readonly sequence: number;
  readonly lastClickAt: number;
  /** False once it has not been heard of for a while: what it has not delivered by now is lost. */
  readonly alive: boolean;
}

/** What a producer that is not among these has left behind is for others to store and to count. */
export async function livingProducers(stream: Pick<ClickStream, 'producers'>): Promise<Set<string>> {
  return new Set((await stream.producers()).filter(({ alive }) => alive).map(({ producer }) => producer));
}

/**
 * Where producers share partitions, a producer numbers its clicks for each of them apart, under a name for the pair. So
 * the numbers of a name are without gaps wherever it is met, and one number per name tells what was counted.
 */
export const pairName = (producer: string, partition: number): string => `${producer}/${partition}`;

/** The producer, whether the name is its own or that of a pair. */
export const noterOf = (name: string): string => name.split('/', 1)[0]!;
