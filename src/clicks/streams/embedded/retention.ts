/** Ends what has outlived its time: days of the log, and the fine grain of old minutes. A little at a time. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import { listDays, listLogs, readFrames } from './stream.ts';

export interface RetentionOptions {
  readonly logFolder: string;
  readonly rawDays: number;
  readonly minuteDays: number;
  readonly clock: Clock;
  readonly positions: () => Promise<ReadonlyMap<string, number>>;
  readonly rollUp: (before: number, rowsMax: number) => Promise<number>;
}

const dayMs = 24 * 60 * 60_000;
const rowsPerRound = 2_000;

/**
 * One round of bounded work. A day of the log goes only when all of it has been counted; half a frame at the end
 * of a log, left by a process that was killed, is never counted and keeps nothing.
 */
export async function applyRetention(options: RetentionOptions): Promise<void> {
  const now = options.clock.now();
  await options.rollUp(now - options.minuteDays * dayMs, rowsPerRound);
  const firstKept = new Date(now - options.rawDays * dayMs).toISOString().slice(0, 10);
  const oldest = listDays(options.logFolder)[0];
  if (oldest === undefined || oldest >= firstKept) return;
  const positions = await options.positions();
  const uncounted = listLogs(options.logFolder)
    .filter(partition => partition.startsWith(`${oldest}/`))
    .some(partition => readFrames(options.logFolder, partition, positions.get(partition) ?? 0, 1).length > 0);
  if (!uncounted) rmSync(join(options.logFolder, oldest), { recursive: true });
}
