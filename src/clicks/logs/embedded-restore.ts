/**
 * Restores archived days to the log, so that they are exported and counted like any other. A day appears in one step,
 * when all of it is fetched and verified. If the log has a part of the day, for example from a backup, each file that
 * is missing or too short is replaced in one step; the others are left alone, so restoring can be repeated.
 *
 * A recount begins at the oldest day of the log and replaces all counts after it, so a gap in the log would become a
 * gap in the counts. Therefore a day comes back together with all that follow it.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { type Archive, ArchiveDamaged, archivedDays } from '../archive.ts';
import { type ManifestFile, readManifest } from '../archive-manifest.ts';
import { isWholeHere, markedDays, readMark, readParts, writeMark } from './embedded-archive.ts';

export interface RestoreOptions {
  readonly archive: Archive;
  readonly logFolder: string;
  readonly clock: Clock;
}

export interface RestoredDay {
  readonly day: string;
  readonly logs: number;
  /** Of these, those that were missing or incomplete before. */
  readonly restored: number;
  readonly clicks: number;
}

/** Restores a day and all archived days after it; `tell` is called with each restored day. */
export async function restoreFrom(
  { archive, logFolder, clock }: RestoreOptions,
  firstDay: string,
  tell: (day: RestoredDay) => void,
): Promise<void> {
  const lost = markedDays(logFolder).find(
    day => day >= firstDay && readMark(logFolder, day)?.state === 'lost',
  );
  if (lost !== undefined)
    throw new Error(
      `${lost} was removed before it was archived: counting again from before it would lose its counts`,
    );
  const days = (await archivedDays(archive)).filter(day => day >= firstDay);
  if (days[0] !== firstDay) throw new Error(`${firstDay} is not in the archive`);
  // The newest first: if the restore is interrupted, the restored days have no gap.
  for (const day of days.reverse()) tell(await restoreDay({ archive, logFolder, clock }, day));
}

async function restoreDay({ archive, logFolder, clock }: RestoreOptions, day: string): Promise<RestoredDay> {
  const manifest = await readManifest(archive, day);
  if (manifest === undefined) throw new ArchiveDamaged(`the archive has no manifest of ${day}`);
  const missing = manifest.files.filter(file => !isWholeHere(logFolder, day, file));
  if (missing.length > 0) {
    const arrivals = join(logFolder, `${day}.unfinished`);
    // Otherwise files of an interrupted restore would get into the day.
    rmSync(arrivals, { recursive: true, force: true });
    mkdirSync(arrivals, { recursive: true, mode: 0o700 });
    try {
      for (const file of missing) await fetchLog(archive, join(arrivals, file.name), day, file);
      // Marked before it can be removed: its retention in the log is already over.
      writeMark(logFolder, day, {
        state: 'verified',
        contents: manifest.files.map(({ name, bytes }) => `${day}/${name} ${bytes}`).join('\n'),
        restoredAt: clock.now(),
      });
      moveInto(join(logFolder, day), arrivals, missing);
    } finally {
      rmSync(arrivals, { recursive: true, force: true });
    }
  }
  return {
    day,
    logs: manifest.files.length,
    restored: missing.length,
    clicks: manifest.files.reduce((sum, { clicks }) => sum + clicks, 0),
  };
}

/** A folder cannot be replaced by another in one step, so only a day that is missing completely is moved as a whole. */
function moveInto(dayFolder: string, arrivals: string, files: readonly ManifestFile[]): void {
  if (!existsSync(dayFolder)) renameSync(arrivals, dayFolder);
  else for (const { name } of files) renameSync(join(arrivals, name), join(dayFolder, name));
}

async function fetchLog(archive: Archive, path: string, day: string, file: ManifestFile): Promise<void> {
  const log = openSync(path, 'w', 0o600);
  try {
    for await (const bytes of readParts(archive, day, file)) writeFileSync(log, bytes);
    fsyncSync(log);
  } finally {
    closeSync(log);
  }
}
