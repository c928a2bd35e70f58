/** The files that Terse keeps in its data folder, by name; anything else there belongs to the operator and is left alone. */
import type { Log } from '../ops/log.ts';
import { closeToOthers } from '../ops/private-files.ts';
import type { Config } from './config.ts';

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

/** The folder of the spill may be the root of a disk. A spill is named by its producer and its owner. */
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
