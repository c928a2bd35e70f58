/**
 * Finds ClickHouse: a server on PATH, or its engine as a library in an npm package, behind an HTTP front of ours
 * (clickhouse-front.ts).
 */
import { join } from 'node:path';
import { type Found, once } from './found.ts';
import { cacheFolder, fetchNpmPackage, unpackOnce } from './unpacked-package.ts';

export type ClickHouseProgram =
  | { readonly kind: 'server'; readonly command: readonly string[] }
  | { readonly kind: 'library'; readonly addon: string };

const libraryVersion = '26.7.3-stable.1';
/** The library's packages by platform and processor. */
const packages: Readonly<Record<string, string>> = {
  'linux-x64': '@chdb/lib-linux-x64-gnu',
  'linux-arm64': '@chdb/lib-linux-arm64-gnu',
  'darwin-x64': '@chdb/lib-darwin-x64',
  'darwin-arm64': '@chdb/lib-darwin-arm64',
};
const addon = 'package/chdb_node.node';

export const findClickHouse = once((): Found<ClickHouseProgram> => {
  const server = Bun.which('clickhouse-server');
  if (server !== null) return { thing: { kind: 'server', command: [server] } };
  const whole = Bun.which('clickhouse');
  if (whole !== null) return { thing: { kind: 'server', command: [whole, 'server'] } };
  const platform = `${process.platform}-${process.arch}`;
  const name = packages[platform];
  if (name === undefined)
    return { reason: `no clickhouse-server on PATH, and no library of it for ${platform}` };
  const folder = join(cacheFolder, `clickhouse-${libraryVersion}`);
  if (!unpackOnce(folder, addon, into => fetchNpmPackage(into, `${name}@${libraryVersion}`))) {
    return { reason: 'no clickhouse-server on PATH, and no package of its library can be had' };
  }
  return { thing: { kind: 'library', addon: join(folder, addon) } };
});
