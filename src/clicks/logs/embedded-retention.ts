/** Removes days of the log that are beyond their retention. */
import { basename, join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { files } from '../../base/files.ts';
import { headPath, headsFolder } from '../log-folder.ts';
import { listDays, listLogs, producerOf, readFrames } from './embedded.ts';
import { isHeld, noteRemoval } from './embedded-archive.ts';

export interface RetentionOptions {
  readonly logFolder: string;
  readonly clock: Clock;
  readonly rawDays: number;
  /** Whether days are archived: then they are removed only after that, or when they are overdue. */
  readonly archives?: boolean;
  /** Producers that still run; they are never forgotten. */
  readonly living: () => Promise<ReadonlySet<string>>;
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
  /** Forgets the counted positions of removed logs. */
  readonly retire: (partitions: readonly string[]) => Promise<void>;
}

const dayMs = 24 * 60 * 60_000;

export async function applyRetention(options: RetentionOptions): Promise<void> {
  const now = options.clock.now();
  await removeOldDays(options, new Date(now - options.rawDays * dayMs).toISOString().slice(0, 10));
}

/**
 * A day of the log is removed only when all of it has been counted. Half a frame at the end of a log, left by a killed
 * process, is never counted and does not prevent it.
 */
async function removeOldDays(options: RetentionOptions, firstKept: string): Promise<void> {
  const { logFolder, rawDays, clock, archives = false } = options;
  const oldDays = listDays(logFolder).filter(day => day < firstKept);
  if (oldDays.length === 0) return;
  const positions = await options.positions();
  for (const day of oldDays) {
    const partitions = listLogs(logFolder).filter(partition => partition.startsWith(`${day}/`));
    const isCounted = (partition: string): boolean =>
      readFrames(logFolder, partition, positions.get(partition) ?? 0, 1).length === 0;
    // Strictly oldest first: a recount assumes that every day after the oldest one is kept, so there must be no gap.
    if (!partitions.every(isCounted)) break;
    if (isHeld(logFolder, day, { now: clock.now(), rawDays, archives })) break;
    if (archives) noteRemoval(logFolder, day);
    files.rmSync(join(logFolder, day), { recursive: true, force: true });
    await options.retire(partitions);
  }
  await removeHeads(options);
}

/** Removes the heads of producers that have ended and have no log left: nothing of theirs can be missing. */
async function removeHeads({ logFolder, living }: RetentionOptions): Promise<void> {
  const keep = new Set([...(await living()), ...listLogs(logFolder).map(producerOf)]);
  for (const name of files.readdirSync(headsFolder(logFolder))) {
    const producer = basename(name, '.head');
    if (name.endsWith('.head') && !keep.has(producer))
      files.rmSync(headPath(logFolder, producer), { force: true });
  }
}
