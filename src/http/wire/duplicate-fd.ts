/**
 * A second descriptor of a socket. Bun can serve a descriptor that it was given but offers no way to keep one without
 * serving it, and whatever it serves it closes at the end. A copy has the same queue of connections, so that whoever
 * serves it goes on where another stopped and nobody who waits is lost.
 */
import { dlopen, FFIType } from 'bun:ffi';

/** Where a C library may be: with glibc, with musl, on macOS. */
const libraries = ['libc.so.6', `libc.musl-${muslName(process.arch)}.so.1`, 'libSystem.dylib'];

export function duplicateFd(fd: number): number {
  const copy = duplicate()(fd);
  if (copy < 0) throw new Error(`descriptor ${fd} cannot be kept`);
  return copy;
}

let loaded: ((fd: number) => number) | undefined;

function duplicate(): (fd: number) => number {
  for (const library of libraries) {
    if (loaded !== undefined) break;
    try {
      loaded = dlopen(library, { dup: { args: [FFIType.i32], returns: FFIType.i32 } }).symbols.dup;
    } catch {}
  }
  if (loaded === undefined) throw new Error('a socket cannot be kept without a C library that can be loaded');
  return loaded;
}

function muslName(arch: string): string {
  return arch === 'arm64' ? 'aarch64' : arch === 'x64' ? 'x86_64' : arch;
}
