/**
 * Finds Varnish with its xkey module: installed, or in the distribution's packages unpacked into the cache. It compiles
 * its configuration when it starts, so the machine needs a C compiler.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

export interface VarnishPrograms {
  readonly server: string;
  /** Writes the log of requests. */
  readonly log: string;
  readonly modules: string;
  readonly env: Readonly<Record<string, string>>;
}

const packages = ['varnish', 'varnish-modules'];
const folder = join(cacheFolder, 'varnish');

export const findVarnish = once((): Found<VarnishPrograms> => {
  if (Bun.which('gcc') === null) return { reason: 'no gcc on PATH, which Varnish needs when it starts' };
  const installed = programsIn('', process.env as Record<string, string>);
  if (installed !== undefined) return { thing: installed };
  const isUnpacked = unpackPackages(folder, packages, 'usr/sbin/varnishd');
  const unpacked = isUnpacked ? programsIn(folder, environmentWithLibraries(folder)) : undefined;
  if (unpacked !== undefined && Bun.spawnSync([unpacked.server, '-V'], { env: unpacked.env }).success)
    return { thing: unpacked };
  return { reason: 'no Varnish with its xkey module, and no package of them that works when it is unpacked' };
});

function programsIn(root: string, env: Readonly<Record<string, string>>): VarnishPrograms | undefined {
  const modules = ['x86_64', 'aarch64']
    .map(machine => join(root, `/usr/lib/${machine}-linux-gnu/varnish/vmods`))
    .find(path => existsSync(join(path, 'libvmod_xkey.so')));
  const [server, log] = [join(root, '/usr/sbin/varnishd'), join(root, '/usr/bin/varnishncsa')];
  if (modules === undefined || !existsSync(server) || !existsSync(log)) return undefined;
  return { server, log, modules, env };
}
