/**
 * Makes a backup of a data folder while its server runs. Everything is written under a temporary name, synced, and read
 * back; only then is the folder renamed. So a folder of that name is a complete backup, even after a power cut.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import packageDocument from '../../../package.json' with { type: 'json' };
import type { Clock } from '../../base/clock.ts';
import { RequestError } from '../../cli/command.ts';
import type { Config } from '../../config/config.ts';
import { ProcessLock } from '../../engines/sqlite/process-lock.ts';
import { copySnapshot } from '../../engines/sqlite/snapshot.ts';
import { copyFile, filesBelow, isMissing, sumOfFile, syncFolder, syncFolders } from './durable-files.ts';
import {
  type Manifest,
  requireSame,
  requireSound,
  type SavedDatabase,
  type SavedFile,
  writeManifest,
} from './manifest.ts';

export interface BackUpOptions {
  readonly config: Pick<Config, 'data' | 'links' | 'stats' | 'clicks'>;
  readonly folder: string;
  readonly clock: Clock;
  readonly tell: (line: string) => void;
}

const lockName = 'making.lock';

export async function backUp(options: BackUpOptions): Promise<Manifest> {
  const folder = resolve(options.folder);
  const unfinished = `${folder}.unfinished`;
  requireFree(folder);
  mkdirSync(unfinished, { recursive: true, mode: 0o700 });
  const lock = new ProcessLock(join(unfinished, lockName));
  let manifest: Manifest | undefined;
  try {
    const isOurs = await lock.tryRun(async () => {
      empty(unfinished);
      try {
        manifest = fill(unfinished, options);
        rmSync(join(unfinished, lockName));
        syncFolders(unfinished);
        requireFree(folder);
        renameSync(unfinished, folder);
        syncFolder(dirname(folder));
      } catch (error) {
        rmSync(unfinished, { recursive: true, force: true });
        throw error;
      }
    });
    if (!isOurs) throw new RequestError(`${folder} is being made by another process`);
  } finally {
    lock.close();
  }
  return manifest!;
}

function requireFree(folder: string): void {
  if (existsSync(folder)) throw new RequestError(`${folder} already exists: choose another name`);
}

/** Removes what a killed attempt left, except the lock that we hold. */
function empty(unfinished: string): void {
  for (const name of readdirSync(unfinished)) {
    if (name !== lockName) rmSync(join(unfinished, name), { recursive: true, force: true });
  }
}

function fill(unfinished: string, { config, clock, tell }: BackUpOptions): Manifest {
  const startedAt = clock.now();
  const contents = contentsOf(config);
  const databases: SavedDatabase[] = [];
  const save = (name: string): void => {
    databases.push(saveDatabase(join(config.data, name), join(unfinished, name), name));
    const { tables, bytes } = databases.at(-1)!;
    tell(`${name}: ${count(tables.reduce((sum, { rows }) => sum + rows, 0))} rows, ${megabytes(bytes)}`);
  };
  contents.before.forEach(save);
  const files = contents.folders.flatMap(name => saveFolder(config.data, unfinished, name));
  const fileBytes = files.reduce((sum, { bytes }) => sum + bytes, 0);
  if (files.length > 0) tell(`clicks: ${count(files.length)} files, ${megabytes(fileBytes)}`);
  contents.after.forEach(save);
  const manifest: Manifest = { format: 1, version: packageDocument.version, startedAt, databases, files };
  writeManifest(unfinished, manifest);
  return manifest;
}

function saveDatabase(from: string, to: string, name: string): SavedDatabase {
  const tables = copySnapshot(from, to);
  requireSound(to, tables);
  return { name, ...sumOfFile(to), tables };
}

/** Files that disappear meanwhile are those whose retention has ended. */
function saveFolder(data: string, unfinished: string, name: string): SavedFile[] {
  mkdirSync(join(unfinished, name), { recursive: true, mode: 0o700 });
  return filesBelow(join(data, name)).flatMap(path => {
    const place = join(name, path);
    if (isTemporary(place)) return [];
    try {
      const saved = copyFile(join(data, place), join(unfinished, place));
      requireSame(unfinished, place, saved);
      return [{ path: place, ...saved }];
    } catch (error) {
      if (isMissing(error) && !existsSync(join(data, place))) return [];
      throw error;
    }
  });
}

/** Files that get their final name once they are complete. */
const isTemporary = (path: string): boolean => path.endsWith('.new') || path.includes('.unfinished/');

const count = (value: number): string => value.toLocaleString('en');

const bytesPerMb = 1024 * 1024;

function megabytes(bytes: number): string {
  return `${(bytes / bytesPerMb).toFixed(1)} MB`;
}

/**
 * The parts of a data folder that belong in a backup: not those that are recreated automatically (limits, Safe Browsing
 * lists), nor clicks on their way elsewhere (the spill).
 */
export interface Contents {
  /** In the order in which they are copied, before and after the folders. */
  readonly before: readonly string[];
  readonly folders: readonly string[];
  readonly after: readonly string[];
}

export const linksDatabase = 'terse.db';
const statsDatabase = 'stats.db';
const clickFolders = ['clicks', 'kafka'];

/**
 * Counts come first: they say how far a log was counted, and the log, copied later, reaches at least as far. Links come
 * last, so that every click that was saved belongs to a link that was.
 */
export function contentsOf(config: Pick<Config, 'data' | 'links' | 'stats' | 'clicks'>): Contents {
  const isThere = (name: string): boolean => existsSync(join(config.data, name));
  const hasLinks = config.links === 'sqlite';
  if (hasLinks && !isThere(linksDatabase)) {
    throw new RequestError(`there is no Terse installation in ${config.data}`);
  }
  const hasStats = config.stats === 'sqlite' && config.clicks && isThere(statsDatabase);
  const folders = config.clicks ? clickFolders.filter(isThere) : [];
  if (!hasLinks && !hasStats && folders.length === 0) {
    throw new RequestError(
      `nothing is kept in ${config.data}: back up the engines that the settings name with their own tools`,
    );
  }
  return {
    before: hasStats ? [statsDatabase] : [],
    folders,
    after: hasLinks ? [linksDatabase] : [],
  };
}
