/**
 * The warehouse's file, which others may delete, replace or damage while it is in use: an operator who wants a recount,
 * a disk that fails. A missing file is created. A damaged one is set aside under another name, for later inspection,
 * and a new one takes its place; of those set aside only the newest few are kept. Either way the log is counted again
 * from its start.
 *
 * SQLite finds its two side files by name alone, and would take those of a deleted file for the new one's. So they are
 * removed before a new file is created, and only one process at a time does this, or it could remove the side files
 * that another has just begun to use.
 */

import { Database } from 'bun:sqlite';
import { readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../../../base/clock.ts';
import { withBusyRetry } from '../../../engines/sqlite/database.ts';
import type { WarehouseAccess } from '../../pipeline.ts';
import { BrokenSketch } from '../../sketch/token.ts';
import type { Warehouse } from '../../warehouse.ts';
import { BrokenColumn } from './columns.ts';
import { openSqliteWarehouse } from './warehouse.ts';

const setAsideMax = 3;
const sideFiles = ['-wal', '-shm'];

/** Which file it is, as long as any process has it open; undefined when there is none. */
export function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

/** True when a file cannot be used any more, as opposed to not now. */
export function isDamage(error: unknown): boolean {
  if (error instanceof BrokenSketch || error instanceof BrokenColumn) return true;
  return error instanceof Error && /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');
}

/** Opens the warehouse, after creating it again if there is none or if it is the one known to be damaged. */
export function openWarehouseFile(path: string, now: number, damaged?: number): Warehouse {
  const inode = inodeOf(path);
  if (inode === undefined || inode === damaged) makeAgain(path, now, damaged);
  try {
    return openSqliteWarehouse(path);
  } catch (error) {
    if (!isDamage(error)) throw error;
    makeAgain(path, now, inode);
    return openSqliteWarehouse(path);
  }
}

function makeAgain(path: string, now: number, damaged: number | undefined): void {
  const guard = new Database(`${path}.guard`, { create: true, readwrite: true });
  try {
    withBusyRetry(() => guard.run('BEGIN EXCLUSIVE'));
    const inode = inodeOf(path);
    // Another process was here first.
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

/** Keeps the warehouse open while the file on disk is the one that was opened; a replaced file is reopened. */
export class WarehouseHandle implements WarehouseAccess {
  readonly #path: string;
  #open: { warehouse: Warehouse; inode: number | undefined } | undefined;
  /** A file that turned out to be damaged while it was in use. */
  #damaged: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /** True when there is no open warehouse, or it is the one on disk. */
  get isCurrent(): boolean {
    return this.#open === undefined || this.#open.inode === inodeOf(this.#path);
  }

  get(): Warehouse {
    if (!this.isCurrent) this.close();
    if (this.#open === undefined) {
      const warehouse = openWarehouseFile(this.#path, systemClock.now(), this.#damaged);
      this.#open = { warehouse, inode: inodeOf(this.#path) };
      this.#damaged = undefined;
    }
    return this.#open.warehouse;
  }

  close(cause?: unknown): void {
    const open = this.#open;
    this.#open = undefined;
    if (isDamage(cause)) this.#damaged = open?.inode;
    open?.warehouse.close().catch(() => undefined);
  }
}
