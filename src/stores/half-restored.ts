/**
 * Whether a data folder is complete. A restore fills one folder inside it, renames that when it is complete, and moves
 * its contents up; a server that started in between would create a new installation beside half of the old one.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigError } from '../config/sources.ts';

/** Being filled; worthless if abandoned. */
export const fillingFolder = (data: string): string => join(data, 'restore.filling');
/** Complete; whatever is still in it has yet to be moved up. */
export const completeFolder = (data: string): string => join(data, 'restore.complete');

/** Prevents a server from starting on such a folder. */
export function requireWholeFolder(data: string): void {
  if (!existsSync(fillingFolder(data)) && !existsSync(completeFolder(data))) return;
  throw new ConfigError(
    `a backup is being restored into ${data}, or was when it was cut off: run \`terse restore\` again to finish it`,
    'run `terse restore` again with the same backup',
  );
}
