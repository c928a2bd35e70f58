/** What Terse keeps in its data folder, by name; anything else there is the operator's, and left alone. */
import type { Log } from '../ops/log.ts';
import { closeToOthers } from '../ops/private-files.ts';
import type { Config } from './config.ts';

/** The umask of every process that writes such files. */
export const privateUmask = 0o077;

/** The first admin key, where it could not be printed to a person. */
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

/** Closes what an earlier version, or another umask, left open to other users; returns what could not be closed. */
export const closeDataFolder = (data: string): string[] => closeToOthers(data, isOurs);

/** The same for all that a server writes to, before it does. */
export function closeDataFiles({ data, clickSpill }: Pick<Config, 'data' | 'clickSpill'>, log: Log): void {
  const open = [...closeDataFolder(data), ...closeToOthers(clickSpill)];
  if (open.length === 0) return;
  log.warn('other users may read data of Terse, and this user may not change that', {
    paths: open.slice(0, pathsShownMax),
    count: open.length,
  });
}
