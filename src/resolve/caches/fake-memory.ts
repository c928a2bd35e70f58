/** The shared cache in memory: the port's rules in their shortest form, used by the tests of its callers. */
import type { Clock } from '../../base/clock.ts';
import type { Link } from '../../links/link.ts';
import { type CacheCheckpoint, type CacheEntry, fenced, fenceMsDefault, type LinkCache } from '../cache.ts';

/** The state that the handles of several processes share. */
export class MemoryCacheContents {
  readonly entries = new Map<string, CacheEntry | Fence>();
  checkpoint: (Pick<CacheCheckpoint, 'seq' | 'trustFromMs'> & { readonly writtenAtMs: number }) | undefined;
  readonly listeners: ((message: string) => void)[] = [];
}

interface Fence {
  readonly fencedUntilMs: number;
}

export interface MemoryCacheOptions {
  readonly clock: Clock;
  readonly contents?: MemoryCacheContents;
  readonly fenceMs?: number;
}

export function createMemoryCache(options: MemoryCacheOptions): LinkCache {
  const { clock, contents = new MemoryCacheContents(), fenceMs = fenceMsDefault } = options;

  const standing = (code: string): CacheEntry | Fence | undefined => {
    const held = contents.entries.get(code);
    if (held === undefined) return undefined;
    const endsMs = 'fencedUntilMs' in held ? held.fencedUntilMs : held.filledAtMs + held.ttlMs;
    if (clock.now() < endsMs) return held;
    contents.entries.delete(code);
    return undefined;
  };

  return {
    async get(code) {
      const held = standing(code);
      return held !== undefined && 'fencedUntilMs' in held ? fenced : held;
    },
    async fill(code, link, ttlMs) {
      if (link !== undefined && link.maxClicks !== null) return false;
      const held = standing(code);
      if (held !== undefined && ('fencedUntilMs' in held || versionOf(held.link) > versionOf(link)))
        return false;
      contents.entries.set(code, { link, filledAtMs: clock.now(), ttlMs });
      return true;
    },
    async fence(codes) {
      for (const code of codes) contents.entries.set(code, { fencedUntilMs: clock.now() + fenceMs });
      return [];
    },
    isAvailableFor: () => true,
    async readCheckpoint() {
      const { checkpoint } = contents;
      const nowMs = clock.now();
      return { nowMs, checkpoint: checkpoint && { ...checkpoint, ageMs: nowMs - checkpoint.writtenAtMs } };
    },
    async writeCheckpoint(seq, given) {
      const trustFromMs = Math.max(given, contents.checkpoint?.trustFromMs ?? 0);
      contents.checkpoint = { seq, trustFromMs, writtenAtMs: clock.now() };
      return trustFromMs;
    },
    onReturn() {
      // Memory is never down.
    },
    async publish(message) {
      for (const listener of contents.listeners) listener(message);
    },
    onMessage(listener) {
      contents.listeners.push(listener);
    },
  };
}

/** Any record is newer than the knowledge that there was none. */
function versionOf(link: Link | undefined): number {
  return link?.version ?? 0;
}
