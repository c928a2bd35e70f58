/** Where HAProxy is: on PATH, or in the distribution's package unpacked into the cache, with the libraries it needs. */
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

export interface HaproxyProgram {
  readonly program: string;
  readonly env: Readonly<Record<string, string>>;
}

const folder = join(cacheFolder, 'haproxy');
const unpacked = 'usr/sbin/haproxy';

export const findHaproxy = once((): Found<HaproxyProgram> => {
  const installed = Bun.which('haproxy');
  if (installed !== null)
    return { thing: { program: installed, env: process.env as Record<string, string> } };
  const program = join(folder, unpacked);
  const isUnpacked = unpackPackages(folder, ['haproxy'], unpacked);
  const env = environmentWithLibraries(folder);
  if (isUnpacked && Bun.spawnSync([program, '-v'], { env }).success) return { thing: { program, env } };
  return { reason: 'no haproxy on PATH, and no package of one that works when it is unpacked' };
});
