/**
 * Finds libfaketime, which gives a process a wall clock that a test sets: on the system, or in the distribution's
 * package unpacked into the cache.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { unpackPackages } from './debian-packages.ts';
import { type Found, once } from './found.ts';
import { cacheFolder } from './unpacked-package.ts';

/** The path of the library for programs with several threads. */
export const findFaketime = once((): Found<string> => {
  const folder = join(cacheFolder, 'faketime');
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[process.arch as string];
  const library = `usr/lib/${machine}-linux-gnu/faketime/libfaketimeMT.so.1`;
  if (existsSync(join('/', library))) return { thing: join('/', library) };
  if (unpackPackages(folder, ['libfaketime'], library)) return { thing: join(folder, library) };
  return { reason: 'no libfaketime on this machine, and no package of it' };
});

/** The environment in which a program adds the seconds in this file, such as `+90`, to its wall clock, within a second. */
export const faketimeEnvironment = (library: string, file: string): Record<string, string> => ({
  LD_PRELOAD: library,
  FAKETIME_TIMESTAMP_FILE: file,
  FAKETIME_CACHE_DURATION: '1',
  FAKETIME_DONT_FAKE_MONOTONIC: '1',
});
