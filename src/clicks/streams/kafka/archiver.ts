/**
 * Archives the days of a topic that are over, oldest first. Of all processes that could, the one does it to whom the
 * only partition of a small topic is given; the brokers take its word that a day is complete only as long as that is so
 * (ADR 13 rests on the same). What is known of the past lies in the archive itself, so whoever comes next goes on from
 * there.
 *
 * Invariant: a day begins at the offsets where the day before it ended.
 */
import type { Clock } from '../../../base/clock.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import { KafkaFenced } from '../../../engines/kafka/failures.ts';
import { firstTimes } from '../../../engines/kafka/first-times.ts';
import type { GroupTerm, KafkaGroup } from '../../../engines/kafka/group.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import {
  type Archive,
  type ArchiverFigures,
  archivedDays,
  type DayArchiver,
  dayOf,
  lostDays,
  lostKey,
  openDay,
} from '../../archive.ts';
import { type ArchivedPartition, putKafkaManifest, readKafkaManifest } from './archive-manifest.ts';
import { archivePartition, type PartitionStretch } from './archive-partition.ts';

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
/** Parts in memory are as many; storage answers several calls as quickly as one. */
const partitionsAtOnce = 4;
/** In one round; another follows a minute later. */
const daysAtOnceMax = 31;
const archiversPartition = 0;

export class KafkaArchiver implements DayArchiver {
  readonly #options: KafkaArchiverOptions;
  #figures: ArchiverFigures = { archived: 0, lost: 0, waiting: 0, lastDayAt: 0, failures: 0 };

  constructor(options: KafkaArchiverOptions) {
    this.#options = options;
  }

  figures(): ArchiverFigures {
    return this.#figures;
  }

  async round(): Promise<void> {
    try {
      const due = await this.#due();
      const term = await this.#ownTerm();
      for (const day of term === undefined ? [] : due.slice(0, daysAtOnceMax)) {
        await this.#archive(day, term!);
        await this.#due();
      }
    } catch (error) {
      // Somebody else has become the archiver, and goes on with the same day.
      if (error instanceof KafkaFenced) return;
      this.#figures = { ...this.#figures, failures: this.#figures.failures + 1 };
      this.#options.onProblem('clicks cannot be archived', error);
    }
  }

  /** Undefined when another process archives, or when it is being found out who does. */
  async #ownTerm(): Promise<GroupTerm | undefined> {
    const term = await this.#options.group.term();
    return term.partitions.includes(archiversPartition) ? term : undefined;
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
      ...this.#figures,
      archived: days.length,
      lost: lost.length,
      waiting: due.length,
      lastDayAt: newest === undefined ? 0 : Date.parse(newest),
    };
    return due;
  }

  /** Of all partitions: a day without one of them would be taken for whole. */
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
          `${topic}/${partition} ends at ${end} and was archived up to ${from}: a topic that was made anew needs another prefix`,
        );
      return { day, partition, from, to: Math.max(from, to) };
    });
    const isWhole = before !== undefined || [...earliest.values()].every(offset => offset === 0);
    return { stretches, isWhole };
  }
}
