/** An archive in memory, for tests. */
import type { Archive } from '../archive.ts';

export interface MemoryArchive extends Archive {
  readonly objects: Map<string, Uint8Array>;
}

export function createMemoryArchive(): MemoryArchive {
  const objects = new Map<string, Uint8Array>();
  return {
    objects,
    async put(key, bytes) {
      objects.set(key, bytes.slice());
    },
    get: async key => objects.get(key)?.slice(),
    list: async start => [...objects.keys()].filter(key => key.startsWith(start)).sort(),
  };
}
