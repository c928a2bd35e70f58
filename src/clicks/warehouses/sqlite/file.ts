/**
 * The warehouse's file, which others may delete, replace or spoil while it is in use: an operator who wants it
 * counted anew, a disk that fails. A missing file is made. A damaged one is set aside under another name, for
 * whoever wants to look into it, and a new one takes its place; of those set aside only the newest few are kept.
 * Either way the log is counted again from its start.
 *
 * SQLite finds its two side files by name alone, and those of a file that is gone would be taken for the new
 * one's. So they go before a new file is made, and only one process at a time does this, or it could take away
 * the side files that another has just begun to use.
 */
import { Database } from 'bun:sqlite';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import { BrokenSketch } from '../../broken-sketch.ts';
import type { Warehouse } from '../../warehouse.ts';
import { openSqliteWarehouse } from './warehouse.ts';

const setAsideMax = 3;
const sideFiles = ['-wal', '-shm'];

/** Which file it is, as long as anyone has it open; undefined when there is none. */
export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** True when a file cannot be used any more, as opposed to not now. */
export function isDamage(error: unknown): boolean {
  if (error instanceof BrokenSketch) return true;
  return error instanceof Error && /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');
}

/** Opens the warehouse, after making it anew if there is none or if it is the one known to be damaged. */
export function openWarehouseFile(path: string, now: number, damaged?: number): Warehouse {
  const inode = inodeOf(path);
  if (inode === undefined || inode === damaged) makeAnew(path, now, damaged);
  try {
    return openSqliteWarehouse(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    makeAnew(path, now, inode);
    return openSqliteWarehouse(path);
  }
}

function makeAnew(path: string, now: number, damaged: number | undefined): void {
  const guard = new Database(`${path}.guard`, { create: true, readwrite: true });
  try {
    withBusyRetry(() => guard.run('BEGIN EXCLUSIVE'));
    const inode = inodeOf(path);
    // Somebody else was here first.
    if (inode !== undefined && inode !== damaged) return;
    if (inode !== undefined) setAside(path, now);
    for (const suffix of sideFiles) rmSync(path + suffix, { force: true });
    openSqliteWarehouse(path).close();
  } finally {
    guard.close();
  }
}

function setAside(path: string, now: number): void {
  const prefix = `${basename(path)}.broken-`;
  renameSync(path, join(dirname(path), prefix + new Date(now).toISOString().replaceAll(':', '-')));
  const names = readdirSync(dirname(path)).filter(name => name.startsWith(prefix));
  for (const name of names.sort().slice(0, -setAsideMax)) rmSync(join(dirname(path), name));
}
