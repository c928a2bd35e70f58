/**
 * Programs from the distribution's packages, unpacked into the cache folder. Nothing is installed, nothing needs
 * root, and a machine that has no such packages does without.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const downloadMaxMs = 60_000;

/** Unpacks packages into `folder` unless `program`, a path inside it, is there already; false when it cannot. */
export async function unpackPackages(
  folder: string,
  packages: readonly string[],
  program: string,
): Promise<boolean> {
  if (existsSync(join(folder, program))) return true;
  if (Bun.which('apt-get') === null || Bun.which('dpkg') === null) return false;
  mkdirSync(folder, { recursive: true });
  const options = { cwd: folder, stdout: 'ignore', stderr: 'ignore', timeout: downloadMaxMs } as const;
  if ((await Bun.spawn(['apt-get', 'download', ...packages], options).exited) !== 0) return false;
  for await (const file of new Bun.Glob('*.deb').scan({ cwd: folder })) {
    if ((await Bun.spawn(['dpkg', '-x', file, '.'], options).exited) !== 0) return false;
  }
  return existsSync(join(folder, program));
}
