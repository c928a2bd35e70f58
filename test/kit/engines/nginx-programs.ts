/** Where nginx with its purge module is: installed, or in the distribution's packages unpacked into the cache. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

export interface NginxProgram {
  readonly server: string;
  readonly purgeModule: string;
  readonly env: Readonly<Record<string, string>>;
}

const packages = ['nginx', 'nginx-common', 'libnginx-mod-http-cache-purge'];
const folder = join(cacheFolder, 'nginx-edge');
const server = 'usr/sbin/nginx';
const purgeModule = 'usr/lib/nginx/modules/ngx_http_cache_purge_module.so';

export const findNginxEdge = once((): Found<NginxProgram> => {
  const installed = Bun.which('nginx');
  if (installed !== null && existsSync(`/${purgeModule}`)) {
    const env = process.env as Record<string, string>;
    return { thing: { server: installed, purgeModule: `/${purgeModule}`, env } };
  }
  const isUnpacked = unpackPackages(folder, packages, purgeModule);
  const env = environmentWithLibraries(folder);
  const program = { server: join(folder, server), purgeModule: join(folder, purgeModule), env };
  if (isUnpacked && Bun.spawnSync([program.server, '-v'], { env, stderr: 'ignore' }).success)
    return { thing: program };
  return { reason: 'no nginx with its purge module, and no package of them that works when it is unpacked' };
});
