/** The files that Terse keeps in its data folder, by name; anything else there belongs to the operator and is left alone. */

import { chmodSync, lstatSync, readdirSync, type Stats, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import type { Log } from '../telemetry/log.ts';

/** The umask of every process that writes such files. */
export const privateUmask = 0o077;

/** Holds the first admin key when stdout is not a terminal. */
export const adminKeyFile = 'admin-key';

const pathsShownMax = 5;
const databases = /^(?:terse|stats|limits|health)\.db/;
const folders = new Set([
  'clicks',
  'kafka',
  'spill',
  'edge',
  'safe-browsing',
  'restore.filling',
  'restore.complete',
]);

const isOurs = (name: string): boolean =>
  databases.test(name) || folders.has(name) || name.startsWith(adminKeyFile) || name === 'restore.lock';

/** The folder of the spill may be the root of a disk. A spill is named after its producer and its owner. */
const isSpill = (name: string): boolean => name.includes('~');

/** Fixes the modes of existing files; returns the paths where that failed. */
export const closeDataFolder = (data: string): string[] => closeToOthers(data, isOurs);

/** The same for everything that a server writes to, at its start. */
export function closeDataFiles({ data, clickSpill }: Pick<Config, 'data' | 'clickSpill'>, log: Log): void {
  const open = [...closeDataFolder(data), ...closeToOthers(clickSpill, isSpill)];
  if (open.length === 0) return;
  log.warn('files are accessible to other users and their mode cannot be changed', {
    paths: open.slice(0, pathsShownMax),
    count: open.length,
  });
}

/**
 * Everything that Terse keeps on disk is readable by its own user only: databases hold secrets and key hashes, logs
 * hold what visitors did. New files are private because every process sets a strict umask; this fixes the modes of
 * files and folders that existed before.
 */
const othersMask = 0o077;

/**
 * Removes the access of group and others from a folder and, recursively, from the entries in it that `isOurs` selects.
 * Returns the paths where that failed.
 */
export function closeToOthers(folder: string, isOurs: (name: string) => boolean = () => true): string[] {
  const entry = entryAt(folder);
  if (entry?.isDirectory() !== true) return [];
  const open: string[] = [];
  close(folder, entry.mode, open);
  for (const name of namesIn(folder)) if (isOurs(name)) closeAll(join(folder, name), open);
  return open;
}

function closeAll(path: string, open: string[]): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  // The target of a symbolic link may not be ours.
  if (entry === undefined || entry.isSymbolicLink()) return;
  close(path, entry.mode, open);
  if (entry.isDirectory()) for (const name of namesIn(path)) closeAll(join(path, name), open);
}

function close(path: string, mode: number, open: string[]): void {
  if ((mode & othersMask) === 0) return;
  try {
    chmodSync(path, mode & 0o7777 & ~othersMask);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') open.push(path);
  }
}

/** Undefined where there is none, or none that can be looked at: a write there will fail and say so. */
function entryAt(path: string): Stats | undefined {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
}

/** A folder that another process has just removed, or that is not readable, has no entries to close. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
