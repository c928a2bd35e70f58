/**
 * The way of a click from whoever noted it to whoever counts it. Appending is durable; reading starts at any
 * position and can be repeated, so the counter keeps its own positions beside its counts and neither loses nor
 * doubles anything. `stream.conformance.ts` is the meaning of this file.
 *
 * A stream has partitions. Within one, batches are in order and a position tells how far a reader has come.
 */
import type { ClickBatch } from './batch.ts';

export interface ClickStream {
  /**
   * Resolves when the batch would survive a power cut. Says where it lies, so that it need not be read again.
   * A batch that a dead producer left behind is appended in its name, and comes after all it appended itself.
   */
  append(batch: ClickBatch, producer?: string): Promise<StreamSpan>;
  /** Partitions that have something beyond the given positions (none given: from the start). */
  behind(positions: ReadonlyMap<string, number>): Promise<Partition[]>;
  /** What lies in a partition from a position on, at most about `bytesMax` of it. */
  read(partition: string, position: number, bytesMax: number): Promise<StreamBatch[]>;
  /** Start of the first UTC day that is still kept; undefined when nothing is. */
  keptFrom(): Promise<number | undefined>;
  /** Remembers for good that a link's clicks before `at` are deleted. */
  markForgotten(code: string, at: number): Promise<void>;
  forgotten(): Promise<ReadonlyMap<string, number>>;
  /** Producers and how far they have numbered their clicks. */
  producers(): Promise<ProducerHead[]>;
  close(): Promise<void>;
}

export interface Partition {
  readonly name: string;
  readonly producer: string;
}

export interface StreamSpan {
  readonly partition: string;
  readonly from: number;
  readonly to: number;
}

export interface StreamBatch extends StreamSpan {
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
