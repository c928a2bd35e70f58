/**
 * Copies a stretch of a partition into an archive, part by part. A part counts only when it was read back and is the
 * same; then it is written down that it is there. So whoever goes on after an interruption, here or on another machine,
 * goes on behind the last part, and does at most one again, which then has the same name.
 */

import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { IncomingMessage, KafkaReader } from '../../../engines/kafka/reader.ts';
import { type Archive, ArchiveDamaged, partKey, sha256Of } from '../../archive.ts';
import { clickCount } from '../../batch.ts';
import { soundFrame } from '../../sound-frame.ts';
import { type ArchivedPartition, putProgress, readProgress } from './archive-manifest.ts';
import { packedBytes, packMessages } from './archived-messages.ts';

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
  /** Throws when archiving is no longer ours. */
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
  const sha256 = sha256Of(bytes);
  const key = partKey(day, sha256);
  await archive.put(key, bytes);
  const kept = await archive.get(key);
  if (kept === undefined || sha256Of(kept) !== sha256)
    throw new ArchiveDamaged(`a part of ${day} is not in the archive as it was put there`);
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
  const frame = soundFrame(value);
  return frame === undefined ? 0 : clickCount(frame.batch);
}
