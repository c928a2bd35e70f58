/**
 * Puts a backup into a data folder that has no installation, and raises its marks. Everything is copied, checked and
 * synced inside one folder first; a rename then marks it complete, and the rest is moving names. If interrupted before
 * the rename, nothing has happened; if interrupted after it, running it again moves what is left. No server starts in
 * between (await-store.ts).
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { RequestError } from '../../cli/command.ts';
import type { Config } from '../../config/config.ts';
import { openForWriting } from '../../engines/sqlite/database.ts';
import { migrate } from '../../engines/sqlite/migrations.ts';
import { ProcessLock } from '../../engines/sqlite/process-lock.ts';
import { isInUse } from '../../engines/sqlite/snapshot.ts';
import { sqliteLinkTransfers } from '../../links/stores/sqlite/transfer.ts';
import { closeDataFolder } from '../../process/data-files.ts';
import { completeFolder, fillingFolder } from '../../stores/await-store.ts';
import { embeddedMigrations } from '../../stores/embedded.ts';
import { linksDatabase } from './back-up.ts';
import { copyFile, syncFolder, syncFolders } from './durable-files.ts';
import { type Manifest, readManifest, requireSound, requireSum } from './manifest.ts';
import { leasedBy, marginSince, type RaisedMark, raiseMarks } from './marks.ts';

export interface RestoreOptions {
  readonly config: Pick<Config, 'data' | 'links' | 'codeLength' | 'region'>;
  readonly folder: string;
  /** How many ids are skipped; undefined for more than can have been leased since the backup. */
  readonly margin: number | undefined;
  readonly clock: Clock;
  readonly tell: (line: string) => void;
}

export interface Restored {
  readonly manifest: Manifest;
  /** Undefined when this run only completed an earlier restore. */
  readonly marks: readonly RaisedMark[] | undefined;
}

export async function restore(options: RestoreOptions): Promise<Restored> {
  const { data } = options.config;
  const manifest = readManifest(options.folder);
  mkdirSync(data, { recursive: true, mode: 0o700 });
  closeDataFolder(data);
  const lockPath = join(data, 'restore.lock');
  const lock = new ProcessLock(lockPath);
  let marks: readonly RaisedMark[] | undefined;
  try {
    const isOurs = await lock.tryRun(async () => {
      try {
        if (!existsSync(completeFolder(data))) {
          requireRoom(options, manifest);
          marks = await fill(options, manifest);
        }
        moveUp(data);
      } finally {
        rmSync(lockPath, { force: true });
      }
    });
    if (!isOurs) throw new RequestError(`another process is restoring into ${data}`);
  } finally {
    lock.close();
  }
  return { manifest, marks };
}

/** Nothing is ever overwritten: the existing data may be the only copy. */
function requireRoom({ config }: RestoreOptions, manifest: Manifest): void {
  const { data, links } = config;
  if (links !== 'sqlite' && manifest.databases.some(({ name }) => name === linksDatabase)) {
    throw new RequestError(
      'the backup has links, and TERSE_LINKS names another store: restore with TERSE_LINKS=sqlite, then use `terse migrate`',
    );
  }
  for (const name of topNames(manifest)) {
    const path = join(data, name);
    if (!existsSync(path)) continue;
    const isServed = statSync(path).isFile() && isInUse(path);
    throw new RequestError(
      isServed
        ? `a server is running on ${data}: stop it, and restore into an empty folder`
        : `${data} has an installation already (${name}): move it elsewhere first`,
    );
  }
}

async function fill({ config, folder, margin, clock, tell }: RestoreOptions, manifest: Manifest) {
  const filling = fillingFolder(config.data);
  rmSync(filling, { recursive: true, force: true });
  mkdirSync(filling, { mode: 0o700 });
  try {
    for (const { name, tables, ...saved } of manifest.databases) {
      const path = join(filling, name);
      requireSum(join(folder, name), copyFile(join(folder, name), path), saved);
      requireSound(path, tables);
      tell(`${name}: as it was`);
    }
    for (const { path, ...saved } of manifest.files) {
      requireSum(join(folder, path), copyFile(join(folder, path), join(filling, path)), saved);
    }
    if (manifest.files.length > 0)
      tell(`clicks: ${manifest.files.length.toLocaleString('en')} files as they were`);
    const by = margin ?? marginSince(manifest.startedAt, clock.now());
    const raise = { by, isChosen: margin !== undefined, inUse: leasedBy(config) };
    const links = join(filling, linksDatabase);
    const marks = existsSync(links) ? await raiseIn(links, raise) : [];
    syncFolders(filling);
    renameSync(filling, completeFolder(config.data));
    syncFolder(config.data);
    return marks;
  } catch (error) {
    rmSync(filling, { recursive: true, force: true });
    throw error;
  }
}

/**
 * A backup of an older version is migrated to this one first. Closing the last connection writes everything into
 * the file itself.
 */
async function raiseIn(path: string, raise: Parameters<typeof raiseMarks>[1]): Promise<RaisedMark[]> {
  const database = openForWriting(path);
  try {
    for (const set of embeddedMigrations) migrate(database, set);
    return await raiseMarks(sqliteLinkTransfers(database).marks, raise);
  } finally {
    database.close();
  }
}

/** Links come last. A name that is already taken stops it; linking, unlike renaming, replaces nothing. */
function moveUp(data: string): void {
  const complete = completeFolder(data);
  const isLinks = (name: string): number => (name === linksDatabase ? 1 : 0);
  for (const name of readdirSync(complete).sort((one, other) => isLinks(one) - isLinks(other))) {
    const [from, to] = [join(complete, name), join(data, name)];
    if (statSync(from).isDirectory()) renameSync(from, to);
    else {
      if (!isSameFile(from, to)) linkSync(from, to);
      unlinkSync(from);
    }
  }
  syncFolder(data);
  rmdirSync(complete);
  syncFolder(data);
}

/** Linked by an attempt that was interrupted before it could unlink. */
function isSameFile(one: string, other: string): boolean {
  return statSync(other, { throwIfNoEntry: false })?.ino === statSync(one).ino;
}

const topNames = ({ databases, files }: Manifest): Set<string> =>
  new Set([...databases.map(({ name }) => name), ...files.map(({ path }) => path.split('/')[0]!)]);
