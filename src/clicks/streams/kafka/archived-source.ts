/**
 * A topic from a day on that Kafka may have forgotten: what is archived is read from the archive, and what is not from
 * Kafka. Offsets go on from the one to the other, so counting cannot tell the difference, and whoever has counted it
 * all stands where Kafka goes on.
 */
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import { type Archive, ArchiveDamaged, archivedDays, partKey, sha256Of } from '../../archive.ts';
import { type StreamItem, stretchOf } from '../../consumed-stream.ts';
import { soundFrame } from '../../sound-frame.ts';
import type { ClickSource, StreamBatch } from '../../stream.ts';
import { type ArchivedPart, type KafkaManifest, readKafkaManifest } from './archive-manifest.ts';
import { unpackMessages } from './archived-messages.ts';
import { partitionName, partitionNumber } from './source.ts';
import { openWholeSource, type WholeSourceOptions } from './whole-source.ts';

export interface ArchivedSourceOptions extends WholeSourceOptions {
  readonly archive: Archive;
}

export interface ArchivedSource extends ClickSource {
  /** The archived days that it begins with, oldest first. */
  readonly days: readonly ArchivedDay[];
}

export interface ArchivedDay {
  readonly day: string;
  readonly clicks: number;
}

interface Stretch {
  readonly day: string;
  readonly from: number;
  readonly to: number;
}

const dayMs = 24 * 60 * 60_000;

/** Refuses what has a gap: counting it again would take clicks out of the counts. */
export async function openArchivedSource(
  options: ArchivedSourceOptions,
  firstDay: string,
): Promise<ArchivedSource> {
  const { archive } = options;
  const names = (await archivedDays(archive)).filter(day => day >= firstDay);
  if (names[0] !== firstDay) throw new Error(`${firstDay} is not in the archive`);
  /** Many parts of a day are read one after the other. */
  let latest: KafkaManifest | undefined;
  const manifestOf = async (day: string): Promise<KafkaManifest> => {
    if (latest?.day !== day) latest = await knownManifest(options, day);
    return latest;
  };
  const stretches = new Map<string, Stretch[]>();
  const days: ArchivedDay[] = [];
  for (const [index, day] of names.entries()) {
    if (Date.parse(day) !== Date.parse(firstDay) + index * dayMs)
      throw new ArchiveDamaged(`the archive has no day before ${day}`);
    const manifest = await manifestOf(day);
    if (!manifest.isWhole)
      throw new Error(`the archive has only a part of ${day}: begin with the day after it`);
    addStretches(stretches, manifest);
    days.push({ day, clicks: manifest.partitions.reduce((sum, { clicks }) => sum + clicks, 0) });
  }
  // Kafka reaches at least to where the archive ends, so there are no partitions but those that it knows.
  const kafka = await openWholeSource(options, endsOf(stretches));
  await refuseGap(options, stretches, names.at(-1)!);

  async function readArchived(partition: string, position: number): Promise<StreamBatch[] | undefined> {
    const stretch = stretches.get(partition)?.find(({ to }) => to > position);
    if (stretch === undefined) return undefined;
    const { partitions } = await manifestOf(stretch.day);
    const parts = partitions.find(each => each.partition === partitionNumber(partition))?.parts ?? [];
    const part = parts.find(({ to }) => to > position);
    const items = part === undefined ? [] : await itemsOf(archive, stretch.day, part);
    const wanted = items.filter(item => item.position >= position);
    return stretchOf(partition, position, part?.to ?? stretch.to, wanted);
  }

  return {
    days,
    behind: kafka.behind,
    read: async (partition, position, bytesMax) =>
      (await readArchived(partition, position)) ?? kafka.read(partition, position, bytesMax),
    close: kafka.close,
  };
}

async function knownManifest({ archive, topic }: ArchivedSourceOptions, day: string): Promise<KafkaManifest> {
  const manifest = await readKafkaManifest(archive, topic, day);
  if (manifest === undefined) throw new ArchiveDamaged(`the archive has no manifest of ${day}`);
  return manifest;
}

function addStretches(stretches: Map<string, Stretch[]>, { day, topic, partitions }: KafkaManifest): void {
  for (const { partition, from, to, lost } of partitions) {
    if (lost > 0)
      throw new Error(
        `${lost} messages of ${day} were gone before they were archived: counting again would lose their counts`,
      );
    const name = partitionName(topic, partition);
    const known = stretches.get(name) ?? [];
    const end = known.at(-1)?.to;
    if (end !== undefined && end !== from)
      throw new ArchiveDamaged(`${day} of ${name} does not begin where the day before ended`);
    stretches.set(name, [...known, { day, from, to }]);
  }
}

const endsOf = (stretches: ReadonlyMap<string, readonly Stretch[]>): Map<string, number> =>
  new Map([...stretches].map(([name, known]) => [name, known.at(-1)!.to]));

async function refuseGap(
  { reader, topic }: ArchivedSourceOptions,
  stretches: ReadonlyMap<string, readonly Stretch[]>,
  newest: string,
): Promise<void> {
  for (const [partition, earliest] of await allOffsets(reader, topic, 'earliest')) {
    const end = stretches.get(partitionName(topic, partition))?.at(-1)?.to ?? 0;
    if (end < earliest)
      throw new Error(`what was written after ${newest} is neither in the archive nor in Kafka any more`);
  }
}

/** Throws instead of giving a part that is not as it was. */
async function itemsOf(archive: Archive, day: string, { sha256 }: ArchivedPart): Promise<StreamItem[]> {
  const bytes = await archive.get(partKey(day, sha256));
  if (bytes === undefined) throw new ArchiveDamaged(`a part of ${day} is missing in the archive`);
  if (sha256Of(bytes) !== sha256) throw new ArchiveDamaged(`a part of ${day} in the archive is damaged`);
  return unpackMessages(bytes).flatMap(({ offset, at, value }): StreamItem[] => {
    const frame = soundFrame(value);
    if (frame === undefined) return [];
    return [{ position: offset, storedAt: at, producer: frame.producer, batch: frame.batch }];
  });
}
