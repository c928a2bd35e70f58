/**
 * Programs from the distribution's packages, unpacked into the cache folder. Nothing is installed, nothing needs
 * root, and a machine that has no such packages does without.
 */
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { runs, unpackArchives, unpackOnce } from './unpacked-package.ts';

/**
 * Unpacks packages, and what of their needs the machine lacks, into `folder`, unless `program`, a path inside it, is
 * there already; false when it cannot.
 */
export function unpackPackages(folder: string, packages: readonly string[], program: string): boolean {
  return unpackOnce(
    folder,
    program,
    into =>
      runs(['apt-get', 'download', ...new Set([...packages, ...neededPackages(packages)])], into) &&
      unpackArchives(into, '*.deb', archive => ['dpkg', '-x', archive, '.']),
  );
}

/** What would have to be installed for these, as the package manager sees it. */
function neededPackages(packages: readonly string[]): string[] {
  if (Bun.which('apt-get') === null) return [];
  const simulate = ['apt-get', '--simulate', '--no-install-recommends', 'install', ...packages];
  const { stdout } = Bun.spawnSync(simulate, { stdout: 'pipe', stderr: 'ignore' });
  return stdout
    .toString()
    .split('\n')
    .flatMap(line => /^Inst (\S+)/.exec(line)?.[1] ?? []);
}

/**
 * The environment in which the loader searches the unpacked libraries first. Some packages have an extra folder for
 * private libraries, which programs expect at its place on a system.
 */
export function environmentWithLibraries(folder: string): Record<string, string> {
  const inherited = process.env as Record<string, string>;
  const own = ['x86_64', 'aarch64']
    .flatMap(machine => ['usr/lib', 'lib'].map(where => join(folder, where, `${machine}-linux-gnu`)))
    .filter(existsSync)
    .flatMap(libraries => [libraries, ...foldersIn(libraries).filter(hasLibraries)]);
  if (own.length === 0) return inherited;
  return { ...inherited, LD_LIBRARY_PATH: [...own, inherited.LD_LIBRARY_PATH].filter(Boolean).join(':') };
}

const foldersIn = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true })
    .filter(entry => entry.isDirectory())
    .map(({ name }) => join(folder, name))
    .sort();

const hasLibraries = (folder: string): boolean =>
  readdirSync(folder).some(name => /^lib.*\.so(?:\.|$)/.test(name));
