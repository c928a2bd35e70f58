/**
 * Everything that Terse keeps on disk is for its own user: databases hold secrets and the hashes of keys, logs hold what
 * visitors did. New files are private because the process has a strict umask; this closes those that an earlier version
 * made, or that were in a folder which somebody else made.
 */
import { chmodSync, lstatSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

const othersMask = 0o077;

/** Closes a folder and the entries that `isOurs` names, with all that is in them; returns what could not be closed. */
export function closeToOthers(folder: string, isOurs: (name: string) => boolean = () => true): string[] {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) return [];
  const open: string[] = [];
  close(folder, statSync(folder).mode, open);
  for (const name of namesIn(folder)) if (isOurs(name)) closeAll(join(folder, name), open);
  return open;
}

function closeAll(path: string, open: string[]): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  // What a link leads to is somebody else's decision.
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

/** A folder that another process has just removed, or that cannot be read, has no entries to close. */
function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined;
