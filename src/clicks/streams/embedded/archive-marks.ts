/**
 * What became of each day of the log in the archive, kept beside the log: a day may be removed here only when it is known
 * to lie there. A mark names the contents it speaks of, so a day that changes afterwards counts as not archived.
 *
 *   clicks/archived/2026-11-15.json
 *
 * Marks stay when their day is gone; they are a line per day and tell operators what can be restored.
 */
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { listLogs } from './stream.ts';

export interface ArchiveMark {
  /** `lost` when the day was removed without having been archived. */
  readonly state: 'verified' | 'lost';
  /** See `contentsOf`. */
  readonly contents: string;
  /** When the day was put back from the archive, if it ever was. */
  readonly restoredAt?: number;
}

/** How long a day may wait for its archive beyond its time; then it goes, and is marked as lost. */
export const overdueDaysMax = 30;
/** How long a restored day stays, although its time was over before. */
export const restoredDays = 7;

const dayMs = 24 * 60 * 60_000;
const markPattern = /^(\d{4}-\d{2}-\d{2})\.json$/;

const marksFolder = (folder: string): string => join(folder, 'archived');
const markPath = (folder: string, day: string): string => join(marksFolder(folder), `${day}.json`);

/** Names and sizes of a day's logs. They only ever grow, so the same sizes are the same contents. */
export function contentsOf(folder: string, day: string): string {
  return logsOf(folder, day)
    .map(partition => `${partition} ${statSync(join(folder, partition)).size}`)
    .join('\n');
}

export function logsOf(folder: string, day: string): string[] {
  return listLogs(folder).filter(partition => partition.startsWith(`${day}/`));
}

export function readMark(folder: string, day: string): ArchiveMark | undefined {
  const path = markPath(folder, day);
  if (!existsSync(path)) return undefined;
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ArchiveMark;
  } catch {
    // Cut off by a crash: the day is archived again, which does no harm.
    return undefined;
  }
}

export function writeMark(folder: string, day: string, mark: ArchiveMark): void {
  mkdirSync(marksFolder(folder), { recursive: true, mode: 0o700 });
  const path = markPath(folder, day);
  writeFileSync(`${path}.new`, JSON.stringify(mark), { mode: 0o600, flush: true });
  renameSync(`${path}.new`, path);
}

/** Days with a mark, oldest first. */
export function markedDays(folder: string): string[] {
  if (!existsSync(marksFolder(folder))) return [];
  return readdirSync(marksFolder(folder))
    .flatMap(name => markPattern.exec(name)?.[1] ?? [])
    .sort();
}

/** Whether all that the log has of a day is known to lie in the archive. */
export function isArchived(folder: string, day: string): boolean {
  const mark = readMark(folder, day);
  return mark?.state === 'verified' && mark.contents === contentsOf(folder, day);
}

/** Whether a day whose time is over must stay nevertheless. */
export function isHeld(
  folder: string,
  day: string,
  { now, rawDays, archives }: { now: number; rawDays: number; archives: boolean },
): boolean {
  const { restoredAt } = readMark(folder, day) ?? {};
  if (restoredAt !== undefined && now < restoredAt + restoredDays * dayMs) return true;
  const isOverdue = Date.parse(day) + (rawDays + overdueDaysMax) * dayMs < now;
  return archives && !isOverdue && !isArchived(folder, day);
}

/** To be called before a day is removed. */
export function noteRemoval(folder: string, day: string): void {
  if (!isArchived(folder, day)) writeMark(folder, day, { state: 'lost', contents: contentsOf(folder, day) });
}
