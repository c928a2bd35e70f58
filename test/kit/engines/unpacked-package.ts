/**
 * Packages unpacked into the project's cache folder, so that nothing is installed and nothing on the system is
 * touched. Several test processes may want the same one at once: each unpacks under a name of its own and the first
 * to finish gives its folder the final name, so a folder with that name is always whole.
 */
import { existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

export const cacheFolder = join(import.meta.dir, '../../../.cache');

/** A machine without a network gives up after this, and does without. */
const downloadMaxMs = 180_000;

/** Calls `fill` unless `program`, a path inside `folder`, exists already; false when it fails. */
export function unpackOnce(folder: string, program: string, fill: (into: string) => boolean): boolean {
  const isThere = () => existsSync(join(folder, program));
  if (isThere()) return true;
  const unfinished = `${folder}.${process.pid}.unfinished`;
  mkdirSync(unfinished, { recursive: true });
  try {
    if (!fill(unfinished) || !existsSync(join(unfinished, program))) return false;
    // Remove what an interrupted earlier version left behind.
    if (!isThere()) rmSync(folder, { recursive: true, force: true });
    renameSync(unfinished, folder);
    return true;
  } catch {
    return isThere();
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Fetches an npm package at exactly this version (`name@1.2.3`); its files come to lie in the folder `package`. */
export function fetchNpmPackage(into: string, versioned: string): boolean {
  const fetch = ['npm', 'pack', versioned, '--silent', '--fetch-retries=1', '--fetch-timeout=60000'];
  return runs(fetch, into) && unpackArchives(into, '*.tgz', archive => ['tar', '-xzf', archive]);
}

/** Removes each archive once it is unpacked. */
export function unpackArchives(
  into: string,
  pattern: string,
  unpack: (archive: string) => string[],
): boolean {
  const archives = [...new Bun.Glob(pattern).scanSync({ cwd: into })];
  return archives.every(archive => {
    const done = runs(unpack(archive), into);
    rmSync(join(into, archive));
    return done;
  });
}

/** Synchronous, because whether tests are skipped must be known before they are listed. */
export function runs(command: string[], folder: string): boolean {
  if (Bun.which(command[0]!) === null) return false;
  const output = { stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' } as const;
  return Bun.spawnSync(command, { cwd: folder, timeout: downloadMaxMs, ...output }).success;
}
