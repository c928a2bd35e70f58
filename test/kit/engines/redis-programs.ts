/** Where Redis is: on PATH, or in the distribution's package unpacked into the cache, with the libraries it needs. */
import { join } from 'node:path';
import { environmentWithLibraries, unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

export interface RedisProgram {
  readonly server: string;
  readonly env: Readonly<Record<string, string>>;
}

/** redis-server itself is a link to a program in redis-tools. */
const packages = ['redis-server', 'redis-tools'];
const folder = join(cacheFolder, 'redis');
const unpacked = 'usr/bin/redis-server';

export const findRedis = once((): Found<RedisProgram> => {
  const installed = Bun.which('redis-server');
  if (installed !== null) return { thing: { server: installed, env: process.env as Record<string, string> } };
  const server = join(folder, unpacked);
  const isUnpacked = unpackPackages(folder, packages, unpacked);
  const env = environmentWithLibraries(folder);
  if (isUnpacked && Bun.spawnSync([server, '--version'], { env }).success) return { thing: { server, env } };
  return { reason: 'no redis-server on PATH, and no package of one that works when it is unpacked' };
});
