/**
 * The file that the processes of one machine keep their buckets in. What it says is worth little and not for
 * long, so nothing waits for the disk, and a file that turns out to be damaged is thrown away: everyone's buckets
 * are full again. Processes that are still on the old file notice that another has taken its place.
 * Only one process at a time replaces it, because SQLite finds its side files by name alone and would take those
 * of the old file for the new one's.
 */
import { Database } from 'bun:sqlite';
import { rmSync, statSync } from 'node:fs';
import { openForWriting, withBusyRetry } from '../../../engines/sqlite/database.ts';
import { type MigrationSet, migrate } from '../../../engines/sqlite/migrations.ts';

const limitMigrations: MigrationSet = {
  component: 'limits',
  steps: [
    `CREATE TABLE buckets (
       key BLOB PRIMARY KEY,
       spent_grains INTEGER NOT NULL,
       at INTEGER NOT NULL,
       full_at INTEGER NOT NULL
     ) STRICT, WITHOUT ROWID;
     CREATE INDEX buckets_by_full_at ON buckets (full_at)`,
  ],
};

const guardMaxMs = 1_000;
const sideFiles = ['-wal', '-shm'];
const cacheKibibytes = 4_096;
const checkpointPages = 1_000;

/** Which file it is, as long as anyone has it open; undefined when there is none. */
export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** True when a file cannot be used any more, as opposed to not now. */
export function isDamage(error: unknown): boolean {
  return error instanceof Error && /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');
}

/** Opens the file, after making it anew if there is none or it is damaged. */
export function openLimitFile(path: string, pagesMax: number): Database {
  const inode = inodeOf(path);
  if (inode === undefined) makeAnew(path, pagesMax, undefined);
  try {
    return open(path, pagesMax);
  } catch (error) {
    if (!isDamage(error)) throw error;
    makeAnew(path, pagesMax, inode);
    return open(path, pagesMax);
  }
}

/** Puts a new file in the place of the damaged one, unless somebody else has done so. */
export function makeAnew(path: string, pagesMax: number, damagedInode: number | undefined): void {
  const guard = new Database(`${path}.guard`, { create: true, readwrite: true });
  try {
    withBusyRetry(() => guard.run('BEGIN EXCLUSIVE'), guardMaxMs);
    const inode = inodeOf(path);
    if (inode !== undefined && inode !== damagedInode) return;
    for (const suffix of ['', ...sideFiles]) rmSync(path + suffix, { force: true });
    open(path, pagesMax).close();
  } finally {
    guard.close();
  }
}

function open(path: string, pagesMax: number): Database {
  const database = openForWriting(path);
  try {
    // A power cut may cost the last seconds, or the file; a process that is killed costs nothing.
    database.run('PRAGMA synchronous = OFF');
    database.run(`PRAGMA cache_size = -${cacheKibibytes}`);
    database.run(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
    database.run(`PRAGMA max_page_count = ${pagesMax}`);
    migrate(database, limitMigrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}
