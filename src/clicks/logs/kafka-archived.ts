/**
 * A topic from a day on that Kafka may no longer have: archived days are read from the archive, and the rest from
 * Kafka. Offsets continue from one to the other, so counting sees no difference, and a consumer that has counted all of
 * it is at the offset where Kafka continues.
 */

import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { allOffsets } from '../../engines/kafka/topics.ts';
import { type Archive, ArchiveDamaged, archivedDays, readPart } from '../archive.ts';
import { type ArchivedPart, type KafkaManifest, readKafkaManifest } from '../archive-manifest.ts';
import { validateFrame } from '../frame.ts';
import type { ClickLog, LogItem, LogPiece } from '../log.ts';
import { refuseTruncated } from '../replay.ts';
import { partitionName, partitionNumber } from './kafka.ts';

export interface ArchivedLogOptions {
  readonly archive: Archive;
  readonly topic: string;
  readonly reader: Pick<KafkaReader, 'offsets' | 'partitions'>;
  readonly log: Pick<ClickLog, 'partitions' | 'read' | 'isOwn'>;
}

export interface ArchivedLog extends Pick<ClickLog, 'partitions' | 'read' | 'isOwn'> {
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

/** Rejects a source with a gap: counting it again would take clicks out of the counts. */
export async function openArchivedLog(options: ArchivedLogOptions, firstDay: string): Promise<ArchivedLog> {
  const { archive, log } = options;
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
  await refuseTruncated(log, endsOf(stretches));
  await refuseGap(options, stretches, names.at(-1)!);

  async function readArchived(partition: string, offset: number): Promise<LogPiece | undefined> {
    const stretch = stretches.get(partition)?.find(({ to }) => to > offset);
    if (stretch === undefined) return undefined;
    const { partitions } = await manifestOf(stretch.day);
    const parts = partitions.find(each => each.partition === partitionNumber(partition))?.parts ?? [];
    const part = parts.find(({ to }) => to > offset);
    const items = part === undefined ? [] : await itemsOf(archive, stretch.day, part);
    const to = part?.to ?? stretch.to;
    return { items: items.filter(item => item.offset >= offset), to, end: Number.POSITIVE_INFINITY };
  }

  return {
    days,
    isOwn: partition => log.isOwn(partition),
    partitions: () => log.partitions(),
    async read(offsets, bounds) {
      const pieces = new Map<string, LogPiece>();
      const others = new Map<string, number>();
      for (const [partition, offset] of offsets) {
        const archived = await readArchived(partition, offset);
        if (archived === undefined) others.set(partition, offset);
        else pieces.set(partition, archived);
      }
      return others.size === 0 ? pieces : new Map([...pieces, ...(await log.read(others, bounds))]);
    },
  };
}

async function knownManifest({ archive, topic }: ArchivedLogOptions, day: string): Promise<KafkaManifest> {
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
  { reader, topic }: ArchivedLogOptions,
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
async function itemsOf(archive: Archive, day: string, { sha256 }: ArchivedPart): Promise<LogItem[]> {
  return unpackMessages(await readPart(archive, day, sha256)).flatMap(({ offset, at, value }): LogItem[] => {
    const frame = validateFrame(value);
    if (frame === undefined) return [];
    return [{ offset, storedAt: at, producer: frame.producer, batch: frame.batch }];
  });
}

/**
 * Messages of a partition as one object of an archive, each as it lies in Kafka, behind its offset and the time it was
 * written:
 *
 *   offset u64 · time u64 · length u32 · value
 *
 * Values are frames, which are compressed already. What is no frame of ours goes along, since only the counters judge
 * that.
 */
export interface ArchivedMessage {
  readonly offset: number;
  /** When it was written, in milliseconds since the Unix epoch. */
  readonly at: number;
  readonly value: Buffer;
}

const headBytes = 20;

export const packedBytes = ({ value }: Pick<ArchivedMessage, 'value'>): number => headBytes + value.length;

export function packMessages(messages: readonly ArchivedMessage[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(messages.reduce((sum, message) => sum + packedBytes(message), 0));
  const view = new DataView(bytes.buffer);
  let position = 0;
  for (const { offset, at, value } of messages) {
    view.setBigUint64(position, BigInt(offset), true);
    view.setBigUint64(position + 8, BigInt(at), true);
    view.setUint32(position + 16, value.length, true);
    bytes.set(value, position + headBytes);
    position += headBytes + value.length;
  }
  return bytes;
}

export function unpackMessages(bytes: Uint8Array): ArchivedMessage[] {
  const whole = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const messages: ArchivedMessage[] = [];
  for (let position = 0; position < whole.length; ) {
    const start = position + headBytes;
    const length = start <= whole.length ? whole.readUInt32LE(position + 16) : Number.POSITIVE_INFINITY;
    if (start + length > whole.length) throw new ArchiveDamaged('messages in the archive are cut off');
    messages.push({
      offset: Number(whole.readBigUInt64LE(position)),
      at: Number(whole.readBigUInt64LE(position + 8)),
      value: whole.subarray(start, start + length),
    });
    position = start + length;
  }
  return messages;
}
