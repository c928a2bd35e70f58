/**
 * Finds S3-compatible storage: a server from an npm package with its dependencies, installed only into the project's
 * cache, and run by Node in a separate process.
 */
import { join } from 'node:path';
import { type Found, once } from './found.ts';
import { cacheFolder, runs, unpackOnce } from './unpacked-package.ts';

export interface S3Program {
  /** Options follow. */
  readonly command: readonly string[];
}

const version = '3.7.1';
const program = 'node_modules/s3rver/bin/s3rver.js';

export const findS3 = once((): Found<S3Program> => {
  const node = Bun.which('node');
  if (node === null) return { reason: 'no Node on PATH, which the S3 server needs' };
  const folder = join(cacheFolder, `s3rver-${version}`);
  const install = ['npm', 'install', `s3rver@${version}`, '--prefix', '.', '--omit=dev', '--ignore-scripts'];
  const quietly = ['--no-audit', '--no-fund', '--silent', '--fetch-retries=1', '--fetch-timeout=60000'];
  if (!unpackOnce(folder, program, into => runs([...install, ...quietly], into))) {
    return { reason: 'the package of the S3 server cannot be had' };
  }
  // It encrypts continuation tokens of listings with a cipher that OpenSSL considers legacy.
  return { thing: { command: [node, '--openssl-legacy-provider', join(folder, program)] } };
});
