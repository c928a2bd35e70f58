import { describe, expect, test } from 'bun:test';
import { HashCache } from './hash-cache.ts';

const hashOf = (start: number, end: number): Uint8Array => {
  const hash = new Uint8Array(32).fill(end);
  new DataView(hash.buffer).setUint32(0, start);
  return hash;
};
const prefixOf = (start: number): Uint8Array => hashOf(start, 0).slice(0, 4);

describe('the cache of full hashes', () => {
  const bad = hashOf(7, 1);
  const answer = {
    found: [
      { hash: bad, threat: 'malware', cacheMs: 100 },
      { hash: bad, threat: 'unwanted_software', cacheMs: 100 },
      { hash: hashOf(8, 1), threat: 'malware', cacheMs: 100 },
    ],
    cacheMs: 300,
    waitMs: 0,
  } as const;

  test('knows nothing of what was never asked', () => {
    expect(new HashCache().look(bad, 0)).toBeUndefined();
  });

  test('tells a listed hash for as long as the server said, and then asks again', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(bad, 1_099)).toEqual({ threat: 'malware' });
    expect(cache.look(bad, 1_100)).toBeUndefined();
  });

  test('tells that nothing else is behind a prefix for as long as the server said', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(hashOf(7, 2), 1_299)).toEqual({ threat: undefined });
    expect(cache.look(hashOf(7, 2), 1_300)).toBeUndefined();
    expect(cache.size).toBe(0);
  });

  test('keeps nothing of prefixes that were not asked about', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(7)], answer, 1_000);
    expect(cache.look(hashOf(8, 1), 1_000)).toBeUndefined();
  });

  test('believes no time longer than a day', () => {
    const cache = new HashCache();
    cache.keep([prefixOf(9)], { found: [], cacheMs: Number.MAX_SAFE_INTEGER, waitMs: 0 }, 0);
    expect(cache.look(hashOf(9, 1), 86_399_999)).toEqual({ threat: undefined });
    expect(cache.look(hashOf(9, 1), 86_400_000)).toBeUndefined();
  });

  test('has a bound, past which the oldest answer goes', () => {
    const cache = new HashCache(2);
    for (const start of [7, 8, 7, 9]) cache.keep([prefixOf(start)], answer, 0);
    expect(cache.size).toBe(2);
    expect(cache.look(bad, 0)).toEqual({ threat: 'malware' });
    expect(cache.look(hashOf(8, 1), 0)).toBeUndefined();
  });
});
