/**
 * The click log in the data folder: one file per UTC day and producer, only ever appended to by that producer.
 *
 *   clicks/2026-11-15/<producer>.log     frames, see frame.ts
 *   clicks/2026-11-15/<producer>~<first number>~<writer>.log
 *                                        what another process appended for a producer that died
 *   clicks/heads/<producer>.head         how far the producer has numbered, see producer-heads.ts
 *   clicks/forgotten                     whose clicks were deleted, see forgotten.ts
 *
 * A file has one writer, so processes need no lock; any process may read, which is how the clicks of one that
 * died are still counted. Sorted by day and name, the logs of a producer are in the order of its numbers. A
 * partition is the path of a log, a position an offset in it. The log is also the store of raw clicks: it is
 * exported from, replayed, and removed by whole days when its time is over.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  statSync,
  writeSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import type { ClickBatch } from '../../batch.ts';
import { decodeFrame, encodeFrame, frameHeaderBytes, frameLength } from '../../frame.ts';
import { makeHeadsFolder, readHeads } from '../../producer-heads.ts';
import type { ClickStream, StreamBatch, StreamSpan } from '../../stream.ts';
import { markForgotten, readForgotten } from './forgotten.ts';

export interface EmbeddedStreamOptions {
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
}

const dayPattern = /^\d{4}-\d{2}-\d{2}$/;

export function createEmbeddedStream({ folder, producer, clock }: EmbeddedStreamOptions): ClickStream {
  makeHeadsFolder(folder);
  /** Our own log, and the one of the dead producer whose clicks we last appended. */
  const open: { own?: OpenLog; inherited?: OpenLog } = {};

  /** Never an earlier day than before: a clock that is set back must not put numbers out of order. */
  function logFor(noter: string, firstSequence: number): OpenLog {
    const slot = noter === producer ? 'own' : 'inherited';
    const day = new Date(clock.now()).toISOString().slice(0, 10);
    const before = open[slot];
    if (before !== undefined && before.producer === noter && before.day >= day) return before;
    const name = slot === 'own' ? producer : `${noter}~${paddedNumber(firstSequence)}~${producer}`;
    const partition = `${day}/${name}.log`;
    mkdirSync(join(folder, day), { recursive: true, mode: 0o700 });
    const file = openSync(join(folder, partition), 'a', 0o600);
    const log = { producer: noter, day, partition, file, offset: sizeOf(join(folder, partition)) };
    // The old file is closed only once the new one is there, so a failure in between leaves it in use.
    open[slot] = log;
    if (before !== undefined) closeSync(before.file);
    return log;
  }

  return {
    async append(batch: ClickBatch, noter = producer): Promise<StreamSpan> {
      const log = logFor(noter, batch.firstSequence);
      const frame = encodeFrame(noter, batch);
      const from = log.offset;
      try {
        writeWhole(log.file, frame);
        fsyncSync(log.file);
      } catch (error) {
        // Half a frame would hide everything appended after it.
        ftruncateSync(log.file, from);
        throw error;
      }
      log.offset += frame.length;
      return { partition: log.partition, from, to: log.offset };
    },

    async behind(positions) {
      return listLogs(folder)
        .filter(name => sizeOf(join(folder, name)) > (positions.get(name) ?? 0))
        .map(name => ({ name, producer: producerOf(name) }));
    },

    read: async (partition, position, bytesMax) => readFrames(folder, partition, position, bytesMax),

    async keptFrom() {
      const [oldest] = listDays(folder);
      return oldest === undefined ? undefined : Date.parse(oldest);
    },

    markForgotten: async (code, at) => markForgotten(folder, code, at),
    forgotten: async () => readForgotten(folder),

    producers: async () => readHeads(folder, clock),

    async close() {
      for (const slot of ['own', 'inherited'] as const) {
        if (open[slot] !== undefined) closeSync(open[slot].file);
        delete open[slot];
      }
    },
  };
}

/** Who noted the clicks of a log. */
export function producerOf(partition: string): string {
  return basename(partition, '.log').split('~')[0]!;
}

/** As wide as any number, so that names sort as the numbers do. */
function paddedNumber(sequence: number): string {
  return String(sequence).padStart(String(Number.MAX_SAFE_INTEGER).length, '0');
}

/** Paths of all logs, oldest day first. */
export function listLogs(folder: string): string[] {
  return listDays(folder).flatMap(day =>
    readdirSync(join(folder, day))
      .filter(name => name.endsWith('.log'))
      .sort()
      .map(name => `${day}/${name}`),
  );
}

export function listDays(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter(name => dayPattern.test(name))
    .sort();
}

/** Reads at least one frame if there is a whole one, however large it is. */
export function readFrames(
  folder: string,
  partition: string,
  position: number,
  bytesMax: number,
): StreamBatch[] {
  const path = join(folder, partition);
  const available = sizeOf(path) - position;
  if (available <= 0) return [];
  let bytes = readRange(path, position, Math.min(available, Math.max(bytesMax, frameHeaderBytes)));
  const firstBytes = frameLength(bytes, 0);
  if (firstBytes !== undefined && firstBytes > bytes.length && firstBytes <= available)
    bytes = readRange(path, position, firstBytes);
  const batches: StreamBatch[] = [];
  let offset = 0;
  for (let frame = decodeFrame(bytes, offset); frame !== undefined; frame = decodeFrame(bytes, offset)) {
    const from = position + offset;
    offset += frame.bytes;
    batches.push({ partition, from, to: position + offset, producer: frame.producer, batch: frame.batch });
  }
  return batches;
}

function readRange(path: string, position: number, length: number): Buffer {
  const file = openSync(path, 'r');
  try {
    const bytes = Buffer.allocUnsafe(length);
    return bytes.subarray(0, readSync(file, bytes, 0, length, position));
  } finally {
    closeSync(file);
  }
}

function writeWhole(file: number, bytes: Uint8Array): void {
  for (let written = 0; written < bytes.length; )
    written += writeSync(file, bytes, written, bytes.length - written);
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
