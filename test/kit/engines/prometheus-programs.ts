/** Where Prometheus and its tool are: on PATH, or in the distribution's package unpacked into the cache. */
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

export interface PrometheusPrograms {
  readonly server: string;
  /** Checks rules and runs their tests. */
  readonly promtool: string;
  readonly env: Readonly<Record<string, string>>;
}

const folder = join(cacheFolder, 'prometheus');
const unpacked = { server: 'usr/bin/prometheus', promtool: 'usr/bin/promtool' };

export const findPrometheus = once((): Found<PrometheusPrograms> => {
  const [server, promtool] = [Bun.which('prometheus'), Bun.which('promtool')];
  if (server !== null && promtool !== null)
    return { thing: { server, promtool, env: process.env as Record<string, string> } };
  const isUnpacked = unpackPackages(folder, ['prometheus'], unpacked.promtool);
  const env = environmentWithLibraries(folder);
  const found = { server: join(folder, unpacked.server), promtool: join(folder, unpacked.promtool), env };
  if (isUnpacked && Bun.spawnSync([found.promtool, '--version'], { env }).success) return { thing: found };
  return { reason: 'no prometheus on PATH, and no package of it that works when it is unpacked' };
});
