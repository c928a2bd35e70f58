/**
 * Programs from the distribution's packages, unpacked into the cache folder. Nothing is installed, nothing needs
 * root, and a machine that has no such packages does without.
 */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';

const downloadMaxMs = 180_000;

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

/** What would have to be installed for these, as the package manager sees it; the packages themselves included. */
export async function neededPackages(packages: readonly string[]): Promise<string[]> {
  if (Bun.which('apt-get') === null) return [];
  const simulate = ['apt-get', '--simulate', '--no-install-recommends', 'install', ...packages];
  const child = Bun.spawn(simulate, { stdout: 'pipe', stderr: 'ignore' });
  const lines = (await new Response(child.stdout).text()).split('\n');
  return lines.flatMap(line => /^Inst (\S+)/.exec(line)?.[1] ?? []);
}
