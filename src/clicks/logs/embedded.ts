/**
 * The click log in the data folder: one file per UTC day and producer, only ever appended to by that producer.
 *
 *   clicks/2026-11-15/<producer>.log     frames, see frame.ts
 *   clicks/2026-11-15/<producer>~<first number>~<writer>.log
 *                                        what another process appended for a producer that died
 *   clicks/heads/<producer>.head         how far the producer has numbered, see log-folder.ts
 *   clicks/forgotten                     whose clicks were deleted, see log-folder.ts
 *
 * A file has one writer, so processes need no lock; any process may read, so the clicks of a dead one are still
 * counted. Sorted by day and name, the logs of a producer are in the order of its numbers. A partition is the path of a
 * log, and an offset is a byte in it. The log is also the store of single clicks: it is exported, replayed, and removed
 * by whole days when their retention is over.
 */
import { basename, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { files } from '../../base/files.ts';
import type { ClickBatch } from '../click.ts';
import { decodeFrame, encodeFrame, frameHeaderBytes, frameLength } from '../frame.ts';
import type { ClickLog, LocalLog, LogBatch, LogPiece, LogSpan } from '../log.ts';
import { makeHeadsFolder, markForgotten, readForgotten, readHeads } from '../log-folder.ts';

export interface EmbeddedLogOptions {
  readonly folder: string;
  /** Unique for each start of each process. */
  readonly producer: string;
  readonly clock: Clock;
}

interface OpenLog {
  readonly producer: string;
  readonly day: string;
  readonly partition: string;
  readonly file: number;
  offset: number;
  /** Whether there may be half a frame after the offset. */
  isTorn: boolean;
}

const dayMs = 24 * 60 * 60_000;
const dayPattern = /^\d{4}-\d{2}-\d{2}$/;
const logPattern = /^\d{4}-\d{2}-\d{2}\/.+\.log$/;

export function createEmbeddedLog({ folder, producer, clock }: EmbeddedLogOptions): LocalLog {
  makeHeadsFolder(folder);
  const log = openEmbeddedLog(folder);
  /** Our own log, and that of the dead producer whose clicks we last appended. */
  const open: { own?: OpenLog; inherited?: OpenLog } = {};

  /** Never an earlier day than before: a clock that is set back must not put numbers out of order. */
  function logFor(owner: string, firstSequence: number): OpenLog {
    const slot = owner === producer ? 'own' : 'inherited';
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    const before = open[slot];
    if (before !== undefined && before.producer === owner && before.day >= day) return before;
    const name = slot === 'own' ? producer : `${owner}~${paddedNumber(firstSequence)}~${producer}`;
    const partition = `${day}/${name}.log`;
    files.mkdirSync(join(folder, day), { recursive: true, mode: 0o700 });
    const file = files.openSync(join(folder, partition), 'a', 0o600);
    const log = {
      producer: owner,
      day,
      partition,
      file,
      offset: sizeOf(join(folder, partition)),
      isTorn: false,
    };
    // The old file is closed only once the new one is there, so a failure in between leaves it in use.
    open[slot] = log;
    if (before !== undefined) files.closeSync(before.file);
    return log;
  }

  return {
    async append(batch: ClickBatch, owner = producer): Promise<LogSpan> {
      const log = logFor(owner, batch.firstSequence);
      const frame = encodeFrame(owner, batch);
      const from = log.offset;
      // Remove what a failed append could not remove: half a frame would hide everything appended after it.
      if (log.isTorn) files.ftruncateSync(log.file, from);
      log.isTorn = true;
      try {
        writeWhole(log.file, frame);
        files.fsyncSync(log.file);
      } catch (error) {
        files.ftruncateSync(log.file, from);
        log.isTorn = false;
        throw error;
      }
      log.isTorn = false;
      log.offset += frame.length;
      return { partition: log.partition, from, to: log.offset };
    },

    ...log,

    markForgotten: async (code, at) => markForgotten(folder, code, at),
    forgotten: async () => readForgotten(folder),

    producers: async () => readHeads(folder, clock),

    async close() {
      for (const slot of ['own', 'inherited'] as const) {
        if (open[slot] !== undefined) files.closeSync(open[slot].file);
        delete open[slot];
      }
    },
  };
}

/** The logs of all producers, read-only. */
export function openEmbeddedLog(folder: string): ClickLog {
  const partitions = async () =>
    listLogs(folder)
      .map(name => ({ name, end: sizeOf(join(folder, name)), producer: producerOf(name) }))
      .filter(({ end }) => end > 0);
  return {
    partitions,
    partitionsOf: partitions,
    async read(offsets, { bytesMax }) {
      const pieces = new Map<string, LogPiece>();
      for (const [partition, offset] of offsets) {
        const frames = readFrames(folder, partition, offset, bytesMax);
        const storedAt = Date.parse(partition.slice(0, 10));
        pieces.set(partition, {
          items: frames.map(({ from, producer, batch }) => ({ offset: from, storedAt, producer, batch })),
          to: frames.at(-1)?.to ?? offset,
          // Half a frame, left by a process that was killed, is never read: the log ends before it.
          end: frames.length === 0 ? offset : sizeOf(join(folder, partition)),
        });
      }
      return pieces;
    },
    /** Each log has one day. Clicks of an evening may be in the log of the next day, which is included. */
    async offsetsAt(time) {
      const day = new Date(Math.max(0, time)).toISOString().slice(0, 10);
      return new Map(
        listLogs(folder)
          .filter(log => log >= day)
          .map(log => [log, 0]),
      );
    },
    async retention() {
      const [oldest] = listDays(folder);
      const keptSince = oldest === undefined ? Number.POSITIVE_INFINITY : Date.parse(oldest);
      // Clicks of the first day may also be in another log, used before this one.
      return { keptSince, begunAt: keptSince + dayMs - 1 };
    },
    isOwn: partition => logPattern.test(partition),
    async close() {},
  };
}

/** The producer of the clicks of a log. */
export function producerOf(partition: string): string {
  return basename(partition, '.log').split('~')[0]!;
}

/** Padded to the width of the largest number, so that names sort like numbers. */
function paddedNumber(sequence: number): string {
  return String(sequence).padStart(String(Number.MAX_SAFE_INTEGER).length, '0');
}

/** Paths of all logs, oldest day first. */
export function listLogs(folder: string): string[] {
  return listDays(folder).flatMap(day =>
    files
      .readdirSync(join(folder, day))
      .filter(name => name.endsWith('.log'))
      .sort()
      .map(name => `${day}/${name}`),
  );
}

export function listDays(folder: string): string[] {
  if (!files.existsSync(folder)) return [];
  return files
    .readdirSync(folder)
    .filter(name => dayPattern.test(name))
    .sort();
}

/** Reads at least one frame if there is a whole one, however large it is. */
export function readFrames(
  folder: string,
  partition: string,
  position: number,
  bytesMax: number,
): LogBatch[] {
  const path = join(folder, partition);
  const available = sizeOf(path) - position;
  if (available <= 0) return [];
  let bytes = readRange(path, position, Math.min(available, Math.max(bytesMax, frameHeaderBytes)));
  const firstBytes = frameLength(bytes, 0);
  if (firstBytes !== undefined && firstBytes > bytes.length && firstBytes <= available)
    bytes = readRange(path, position, firstBytes);
  const batches: LogBatch[] = [];
  let offset = 0;
  for (let frame = decodeFrame(bytes, offset); frame !== undefined; frame = decodeFrame(bytes, offset)) {
    const from = position + offset;
    offset += frame.bytes;
    batches.push({ partition, from, to: position + offset, producer: frame.producer, batch: frame.batch });
  }
  return batches;
}

function readRange(path: string, position: number, length: number): Buffer {
  const file = files.openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, files.readSync(file, bytes, 0, length, position));
  } finally {
    files.closeSync(file);
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    written += files.writeSync(file, bytes, written, bytes.length - written);
}

function sizeOf(path: string): number {
  return files.statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
