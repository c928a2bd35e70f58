/**
 * Archives the days of a topic that are over, oldest first. Of all processes that could, the one that is assigned the
 * only partition of a small topic does it; the brokers accept its commit that a day is complete only while that is so
 * (ADR 13 relies on the same). What is known of the past lies in the archive itself, so the next archiver continues
 * from there.
 *
 * Invariant: a day begins at the offsets where the day before it ended.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import { inParallel } from '../../base/in-parallel.ts';
import { KafkaFenced } from '../../engines/kafka/failures.ts';
import type { GroupTerm, KafkaGroup } from '../../engines/kafka/group.ts';
import { firstTimes } from '../../engines/kafka/offsets.ts';
import type { IncomingMessage, KafkaReader } from '../../engines/kafka/reader.ts';
import { allOffsets } from '../../engines/kafka/topics.ts';
import {
  type ArchivableLog,
  type Archive,
  type ArchiverFigures,
  archivedDays,
  dayOf,
  lostDays,
  lostKey,
  openDay,
  putPart,
} from '../archive.ts';
import {
  type ArchivedPartition,
  putKafkaManifest,
  putProgress,
  readKafkaManifest,
  readProgress,
} from '../archive-manifest.ts';
import { clickCount } from '../click.ts';
import { validateFrame } from '../frame.ts';
import { packedBytes, packMessages } from './kafka-archived.ts';

export interface KafkaArchiverOptions {
  readonly archive: Archive;
  readonly reader: KafkaReader;
  /** Of a topic with one partition. */
  readonly group: KafkaGroup;
  readonly topic: string;
  readonly clock: Clock;
  readonly onProblem: (what: string, error: unknown) => void;
  readonly partBytesMax?: number;
}

const dayMs = 24 * 60 * 60_000;
/** At most this many parts are in memory; storage answers several calls as quickly as one. */
const partitionsAtOnce = 4;
const archiversPartition = 0;

export class KafkaArchivable implements ArchivableLog {
  readonly #options: KafkaArchiverOptions;
  readonly isInOrder = true;
  #figures = { archived: 0, lost: 0, waiting: 0, lastDayAt: 0 };
  #term: GroupTerm | undefined;

  constructor(options: KafkaArchiverOptions) {
    this.#options = options;
  }

  figures(): Omit<ArchiverFigures, 'failures'> {
    return this.#figures;
  }

  async due(): Promise<readonly string[]> {
    const days = await this.#due();
    this.#term = await this.#ownTerm();
    return this.#term === undefined ? [] : days;
  }

  async archiveDay(day: string): Promise<boolean> {
    try {
      await this.#archive(day, this.#term!);
      await this.#due();
      return true;
    } catch (error) {
      // Another process has become the archiver, and continues with the same day.
      if (error instanceof KafkaFenced) return false;
      throw error;
    }
  }

  /** Undefined when another process archives, or while the partition is being assigned. */
  async #ownTerm(): Promise<GroupTerm | undefined> {
    const term = await this.#options.group.term().catch(error => {
      if (error instanceof KafkaFenced) return undefined;
      throw error;
    });
    return term?.partitions.includes(archiversPartition) === true ? term : undefined;
  }

  /** Days that are over and not archived, oldest first: those behind the newest that is, or all that Kafka has. */
  async #due(): Promise<string[]> {
    const { archive, clock } = this.#options;
    const [days, lost] = [await archivedDays(archive), await lostDays(archive)];
    const newest = days.at(-1);
    const open = Date.parse(openDay(clock.now()));
    const first = newest === undefined ? await this.#firstDay() : Date.parse(newest) + dayMs;
    const due: string[] = [];
    for (let at = first ?? open; at < open; at += dayMs) due.push(dayOf(at));
    this.#figures = {
      archived: days.length,
      lost: lost.length,
      waiting: due.length,
      lastDayAt: newest === undefined ? 0 : Date.parse(newest),
    };
    return due;
  }

  /** Of all partitions: a day without one of them would be taken for complete. */
  #offsets(at: Parameters<KafkaReader['offsets']>[1]): Promise<Map<number, number>> {
    const { reader, topic } = this.#options;
    return allOffsets(reader, topic, at);
  }

  async #firstDay(): Promise<number | undefined> {
    const times = await firstTimes(this.#options, await this.#offsets('earliest'));
    return times.size === 0 ? undefined : Math.floor(Math.min(...times.values()) / dayMs) * dayMs;
  }

  async #archive(day: string, term: GroupTerm): Promise<void> {
    const { archive, topic, onProblem } = this.#options;
    const { stretches, isWhole } = await this.#stretchesOf(day);
    const partitions: ArchivedPartition[] = [];
    await inParallel(stretches.length, partitionsAtOnce, async index => {
      const confirm = (): void => {
        if (!term.isCurrent) throw new KafkaFenced('another process archives');
      };
      partitions[index] = await archivePartition({ ...this.#options, confirm }, stretches[index]!);
    });
    const lost = partitions.reduce((sum, partition) => sum + partition.lost, 0);
    if (lost > 0) {
      onProblem(`clicks of ${day} were gone before they could be archived`, `${lost} messages`);
      await archive.put(lostKey(day), new TextEncoder().encode(`${JSON.stringify({ messages: lost })}\n`));
    }
    // Throws unless the brokers still know us as the archiver.
    await term.commit(new Map([[archiversPartition, { offset: 0, metadata: day }]]));
    await putKafkaManifest(archive, { version: 2, day, topic, isWhole, partitions });
  }

  /** From where the day before ended, or from the first message there is, to the first one of the next day. */
  async #stretchesOf(day: string): Promise<{ stretches: PartitionStretch[]; isWhole: boolean }> {
    const { archive, topic } = this.#options;
    const before = await readKafkaManifest(archive, topic, dayOf(Date.parse(day) - dayMs));
    const archivedTo = new Map(before?.partitions.map(({ partition, to }) => [partition, to]));
    const earliest = await this.#offsets('earliest');
    const next = await this.#offsets({ time: Date.parse(day) + dayMs });
    const ends = await this.#offsets('latest');
    const stretches = [...next].map(([partition, to]) => {
      const from = archivedTo.get(partition) ?? earliest.get(partition)!;
      const end = ends.get(partition)!;
      if (from > end)
        throw new Error(
          `${topic}/${partition} ends at ${end} and was archived up to ${from}: a topic that was recreated needs another prefix`,
        );
      return { day, partition, from, to: Math.max(from, to) };
    });
    const isWhole = before !== undefined || [...earliest.values()].every(offset => offset === 0);
    return { stretches, isWhole };
  }
}

/**
 * Copies a stretch of a partition into an archive, part by part. A part counts only when it was read back and is the
 * same; then its presence is recorded. So after an interruption any process, here or on another machine, continues
 * behind the last part, and repeats at most one, which then has the same name.
 */
export interface PartitionStretch {
  readonly day: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

export interface PartitionArchiving {
  readonly archive: Archive;
  readonly reader: KafkaReader;
  readonly topic: string;
  readonly clock: Clock;
  /** Throws when we are no longer the archiver. */
  readonly confirm: () => void;
  readonly partBytesMax?: number;
}

interface Piece {
  readonly messages: readonly IncomingMessage[];
  readonly to: number;
  readonly lost: number;
}

/** What is in memory at once of a partition, and what is sent again when sending fails. */
const partBytesMaxDefault = 8 * 1024 * 1024;
const fetchOptions = { bytesMax: 1024 * 1024, waitMaxMs: 200 };
/** A partition may have no leader for a moment. */
const attemptsMax = 20;
const attemptPauseMs = 250;

export async function archivePartition(
  archiving: PartitionArchiving,
  { day, partition, from, to }: PartitionStretch,
): Promise<ArchivedPartition> {
  const { archive } = archiving;
  const begun = await readProgress(archive, day, partition);
  let done: ArchivedPartition =
    begun !== undefined && begun.from === from && begun.to <= to
      ? begun
      : { partition, from, to: from, lost: 0, clicks: 0, parts: [] };
  while (done.to < to) {
    const piece = await readPiece(archiving, partition, done.to, to);
    archiving.confirm();
    done = piece.messages.length === 0 ? stretched(done, piece) : await withPart(archive, day, done, piece);
    await putProgress(archive, day, done);
  }
  return done;
}

async function withPart(
  archive: Archive,
  day: string,
  done: ArchivedPartition,
  { messages, to, lost }: Piece,
): Promise<ArchivedPartition> {
  const bytes = packMessages(messages);
  const sha256 = await putPart(archive, day, bytes);
  const from = done.parts.length === 0 ? done.from : done.to;
  return {
    ...done,
    to,
    lost: done.lost + lost,
    clicks: done.clicks + messages.reduce((clicks, { value }) => clicks + clicksIn(value), 0),
    parts: [...done.parts, { from, to, bytes: bytes.length, sha256 }],
  };
}

/** Offsets without messages belong to the part before them. */
function stretched(done: ArchivedPartition, { to, lost }: Piece): ArchivedPartition {
  const parts = done.parts.map((part, index) => (index === done.parts.length - 1 ? { ...part, to } : part));
  return { ...done, to, lost: done.lost + lost, parts };
}

/** As much as a part takes, and nothing behind `to`. */
async function readPiece(
  { reader, topic, clock, partBytesMax = partBytesMaxDefault }: PartitionArchiving,
  partition: number,
  from: number,
  to: number,
): Promise<Piece> {
  const messages: IncomingMessage[] = [];
  let [position, bytes, lost, attempts] = [from, 0, 0, 0];
  while (position < to && bytes < partBytesMax) {
    const [fetched] = await reader.fetch(topic, new Map([[partition, position]]), fetchOptions);
    if (fetched === undefined || fetched.next <= position) {
      attempts += 1;
      if (attempts > attemptsMax) throw new Error(`${topic}/${partition} cannot be read at ${position}`);
      await sleep(clock, attemptPauseMs);
      continue;
    }
    attempts = 0;
    const wanted = fetched.messages.filter(({ offset }) => offset < to);
    messages.push(...wanted);
    bytes += wanted.reduce((sum, message) => sum + packedBytes(message), 0);
    if (fetched.messages.length === 0) {
      const earliest = (await reader.offsets(topic, 'earliest')).get(partition) ?? 0;
      lost += Math.max(0, Math.min(earliest, to) - position);
    }
    position = fetched.next;
  }
  return { messages, to: Math.min(position, to), lost };
}

function clicksIn(value: Buffer): number {
  const frame = validateFrame(value);
  return frame === undefined ? 0 : clickCount(frame.batch);
}
