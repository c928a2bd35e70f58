/**
 * The click log: the path of a click from the process that recorded it to the one that counts it. Appending is durable;
 * reading starts at any offset and can be repeated, so the consumer can keep its offsets beside its counts and neither
 * lose nor duplicate a click. `log.conformance.ts` defines the contract.
 *
 * A log has partitions, each of which is ordered. In the embedded log a partition is the file of one producer and day,
 * and an offset is a byte in it; in Kafka all producers share the partitions, and an offset is that of a message.
 */
import { type Clock, sleep } from '../base/clock.ts';
import { type ClickBatch, emptyBatch } from './click.ts';

/** The part of a log that a producer needs. `Place` says where a batch was stored, if the log knows. */
export interface LogWriter<Place = unknown> {
  /**
   * Resolves when the batch would survive a power cut. When it throws, it is unknown how much of the batch was stored,
   * and the caller appends it again. A batch that a dead producer left behind is appended in its name, after all that
   * it appended itself.
   */
  append(batch: ClickBatch, producer?: string): Promise<Place>;
  close(): Promise<void>;
}

export interface ClickLog {
  /** Every partition that is not empty; throws unless this is known for all of them. */
  partitions(): Promise<LogPartition[]>;
  /** The partitions that may have clicks of these links. */
  partitionsOf(codes: readonly string[]): Promise<LogPartition[]>;
  /**
   * The contents of partitions from the offsets on, in order and at least one item if there is one; waits for a moment
   * when there is none. A partition that cannot be read now is left out.
   */
  read(offsets: ReadonlyMap<string, number>, bounds: ReadBounds): Promise<ReadonlyMap<string, LogPiece>>;
  /**
   * The offset of each partition from which it has clicks since this time; partitions without such clicks are left out.
   */
  offsetsAt(time: number): Promise<ReadonlyMap<string, number>>;
  /** The retention of the whole log, or of some partitions if they are kept separately. */
  retention(partitions?: ReadonlySet<string>): Promise<Retention>;
  /** Whether a partition that was counted is one of this log. */
  isOwn(partition: string): boolean;
  close(): Promise<void>;
}

/** A log on this machine, with the state that its processes must not lose (log-folder.ts). */
export interface LocalLog extends ClickLog, LogWriter<LogSpan> {
  /** Records permanently that a link's clicks before `at` are deleted. */
  markForgotten(code: string, at: number): Promise<void>;
  forgotten(): Promise<ReadonlyMap<string, number>>;
  /** The producers with their newest click numbers. */
  producers(): Promise<ProducerHead[]>;
}

export interface LogPartition {
  readonly name: string;
  readonly end: number;
  /** Its only producer, if there is just one. */
  readonly producer?: string;
}

export interface ReadBounds {
  readonly bytesMax: number;
  readonly waitMaxMs: number;
}

export interface LogPiece {
  readonly items: readonly LogItem[];
  /** The offset after the read range. Unreadable or expired messages in between are missing. */
  readonly to: number;
  /** Where the partition ends at present. */
  readonly end: number;
}

export interface LogItem {
  readonly offset: number;
  /** When it was written; in the embedded log the start of that day. */
  readonly storedAt: number;
  /** The producer that numbered it, or one of its pairs (see `pairName`). */
  readonly producer: string;
  readonly batch: ClickBatch;
}

export interface Retention {
  /** Everything written since then is still there; infinite when the log is empty. */
  readonly keptSince: number;
  /** The oldest message was written at this time or before; infinite when the log is empty. */
  readonly begunAt: number;
}

export interface LogSpan {
  readonly partition: string;
  readonly from: number;
  readonly to: number;
}

export interface LogBatch extends LogSpan {
  readonly producer: string;
  readonly batch: ClickBatch;
}

export interface ProducerHead {
  readonly producer: string;
  /** Number of the newest click it recorded. */
  readonly sequence: number;
  readonly lastClickAt: number;
  /** All its clicks before this time are in the log, or were dropped. */
  readonly storedUntil: number;
  /** False once it has been silent for a while: clicks that it has not delivered are lost. */
  readonly alive: boolean;
}

/** A partition cannot be read for now. */
export class LogUnavailable extends Error {
  override readonly name = 'LogUnavailable';
}

/** A partition may have no leader for a moment. */
const attemptsMax = 20;
const attemptPauseMs = 250;

/** Partitions that have something beyond the given offsets (none given: from the start). */
export async function partitionsBehind(
  log: Pick<ClickLog, 'partitions'>,
  offsets: ReadonlyMap<string, number>,
): Promise<LogPartition[]> {
  return (await log.partitions()).filter(({ name, end }) => end > (offsets.get(name) ?? 0));
}

/** The batches of one piece; throws `LogUnavailable` when there is no answer for now. */
export async function readBatches(
  log: Pick<ClickLog, 'read'>,
  partition: string,
  offset: number,
  bytesMax: number,
): Promise<LogBatch[]> {
  const pieces = await log.read(new Map([[partition, offset]]), { bytesMax, waitMaxMs: 0 });
  const piece = pieces.get(partition);
  if (piece === undefined) throw new LogUnavailable(`${partition} cannot be read at ${offset}`);
  return batchesOf(partition, offset, piece.to, piece.items);
}

/** Retries until the piece advances or the partition ends: for results that replace others. */
export async function readOn(
  log: Pick<ClickLog, 'read'>,
  {
    partition,
    offset,
    bytesMax,
    clock,
  }: { partition: string; offset: number; bytesMax: number; clock: Clock },
): Promise<LogPiece> {
  for (let attempt = 1; ; attempt += 1) {
    const pieces = await log.read(new Map([[partition, offset]]), { bytesMax, waitMaxMs: 0 });
    const piece = pieces.get(partition);
    if (piece !== undefined && (piece.to > offset || offset >= piece.end)) return piece;
    if (attempt === attemptsMax)
      throw new LogUnavailable(`${partition} cannot be read at ${offset}, which is not its end`);
    await sleep(clock, attemptPauseMs);
  }
}

/** Batches whose offsets have no gaps, as warehouses require: a missing offset belongs to the batch beside it. */
export function batchesOf(
  partition: string,
  from: number,
  to: number,
  items: readonly LogItem[],
): LogBatch[] {
  if (items.length === 0) return from < to ? [{ partition, from, to, producer: '', batch: emptyBatch }] : [];
  return items.map(({ producer, batch }, index) => ({
    partition,
    from: index === 0 ? from : items[index]!.offset,
    to: items[index + 1]?.offset ?? to,
    producer,
    batch,
  }));
}

/** Clicks that any other producer left behind are stored and counted by other processes. */
export async function livingProducers(log: Pick<LocalLog, 'producers'>): Promise<Set<string>> {
  return new Set((await log.producers()).filter(({ alive }) => alive).map(({ producer }) => producer));
}

/**
 * If producers share partitions, a producer numbers its clicks separately for each of them, under a name for the pair.
 * So the numbers of a name have no gaps, and one number per name says what was counted.
 */
export const pairName = (producer: string, partition: number): string => `${producer}/${partition}`;

/** The producer, whether the name is its own or that of a pair. */
export const producerOf = (name: string): string => name.split('/', 1)[0]!;
