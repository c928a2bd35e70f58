import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { LRUCache } from 'lru-cache';
import { seededRandom } from '../../src/base/random.ts';
import { LinkMemory } from '../../src/resolve/link-memory.ts';
import { zipfTrace } from '../kit/zipf.ts';
import { answeredWhere, hitShare, hitShareAtBest, type TierSizes } from './cache-tiers.ts';
import { zipfPopularity } from './popularity.ts';

const keys = 20_000;
const traceLength = 200_000;
/** Requests that fill the cache and are not counted. */
const warmUpLength = 100_000;
/** Traces are random, so results scatter a little. */
const scatter = 0.01;

interface Cache {
  get(key: string): unknown;
  set(key: string, value: number): unknown;
}

/** The cache in memory, of which only the order of eviction matters here. */
function inMemory(entriesMax: number): Cache {
  const memory = new LinkMemory({ entriesMax, bytesMax: 2 ** 26, seed: 1 });
  const known = {
    readAtMs: 0,
    lifetimeMs: 0,
    loadMs: 0,
    renewAtMs: 0,
    policyEpoch: 0,
    cacheEpoch: 0,
    isFollowable: true,
    isPlain: true,
  };
  return {
    get(key) {
      const entry = memory.find(key);
      if (entry !== 0) memory.visit(entry);
      return entry === 0 ? undefined : entry;
    },
    set: key => memory.keep(key, undefined, known),
  };
}

function replayed(cache: Cache, exponent: number): number {
  let hits = 0;
  zipfTrace(keys, exponent, traceLength, seededRandom(7)).forEach((rank, turn) => {
    const key = `k${rank}`;
    const isHit = cache.get(key) !== undefined;
    if (!isHit) cache.set(key, turn);
    if (isHit && turn >= warmUpLength) hits += 1;
  });
  return hits / (traceLength - warmUpLength);
}

describe('the share of hits', () => {
  const cases = [0.7, 0.9, 1.1].flatMap(exponent =>
    [200, 2_000].map(entries => [exponent, entries] as const),
  );

  test.each(cases)(
    'is what replaying traffic through an LRU cache gives (Zipf %p, %p entries)',
    (exponent, entries) => {
      const real = replayed(new LRUCache<string, number>({ max: entries }), exponent);
      expect(Math.abs(hitShare(zipfPopularity(keys, exponent), entries) - real)).toBeLessThan(scatter);
    },
  );

  test.each(cases)(
    'promises no more than the cache in memory keeps (Zipf %p, %p entries)',
    (exponent, entries) => {
      const real = replayed(inMemory(entries), exponent);
      const popularity = zipfPopularity(keys, exponent);
      expect(hitShare(popularity, entries)).toBeLessThan(real + scatter);
      expect(hitShareAtBest(popularity, entries)).toBeGreaterThan(real - scatter);
    },
  );

  test('is everything where all keys find room', () => {
    expect(hitShare(zipfPopularity(1_000, 0.8), 1_000)).toBeCloseTo(1, 9);
    expect(hitShareAtBest(zipfPopularity(1_000, 0.8), 1_000)).toBeCloseTo(1, 9);
  });
});

const sizes: TierSizes = {
  redirectsPerS: 1_000,
  edgeTtlS: 0,
  edgePlaces: 0,
  memoryEntries: 200,
  sharedTtlS: 60,
  sharedEntriesMax: Number.POSITIVE_INFINITY,
};

/** Processes behind a random load balancer: each memory lacks other links. */
const processes = 8;

/** Visitors at random times, and a shared cache that drops links after their TTL or when it is full. */
function playedThrough(
  { redirectsPerS, memoryEntries, sharedTtlS, sharedEntriesMax }: TierSizes,
  exponent: number,
) {
  const random = seededRandom(11);
  const memories = Array.from(
    { length: processes },
    () => new LRUCache<number, true>({ max: memoryEntries }),
  );
  const shared = new LRUCache<number, number>({ max: Math.min(sharedEntriesMax, keys) });
  const counts = { memory: 0, shared: 0, store: 0 };
  let now = 0;
  zipfTrace(keys, exponent, traceLength * 2, seededRandom(5)).forEach((rank, turn) => {
    now += -Math.log(1 - random.float()) / redirectsPerS;
    const memory = memories[Math.floor(random.float() * processes)]!;
    const isInMemory = memory.get(rank) === true;
    const filledAt = isInMemory ? undefined : shared.get(rank);
    const isShared = filledAt !== undefined && now < filledAt + sharedTtlS;
    if (!isInMemory && !isShared) shared.set(rank, now);
    memory.set(rank, true);
    if (turn >= traceLength) counts[isInMemory ? 'memory' : isShared ? 'shared' : 'store'] += 1;
  });
  return {
    memory: counts.memory / traceLength,
    shared: counts.shared / traceLength,
    store: counts.store / traceLength,
  };
}

describe('redirects are answered', () => {
  test.each([
    ['where the shared cache has room for everything', Number.POSITIVE_INFINITY],
    ['where links leave the shared cache for want of room', 2_000],
  ])('by memory, shared cache and store as in a replay of both caches: %s', (_case, sharedEntriesMax) => {
    const given = { ...sizes, sharedEntriesMax };
    const computed = answeredWhere(zipfPopularity(keys, 0.9), given);
    const real = playedThrough(given, 0.9);
    expect(Math.abs(computed.memory - real.memory)).toBeLessThan(scatter);
    expect(Math.abs(computed.shared - real.shared)).toBeLessThan(2 * scatter);
    expect(Math.abs(computed.store - real.store)).toBeLessThan(2 * scatter);
    expect(computed.sharedEntries).toBeLessThanOrEqual(sharedEntriesMax * 1.001);
  });

  test('by the edge in proportion to how long it may keep them', () => {
    const at = (edgeTtlS: number) =>
      answeredWhere(zipfPopularity(keys, 0.9), { ...sizes, edgeTtlS, edgePlaces: 10 });
    expect(at(0).edge).toBeCloseTo(0, 9);
    expect(at(60).edge).toBeGreaterThan(at(10).edge);
    expect(at(60).edge + at(60).memory + at(60).shared + at(60).store).toBeCloseTo(1, 9);
  });

  test('more by the store when there are more of them, and less when a cache is larger', () => {
    const popularity = zipfPopularity(1_000_000, 0.9);
    const storeReads = (given: Partial<TierSizes>): number => {
      const all = { ...sizes, ...given };
      return answeredWhere(popularity, all).store * all.redirectsPerS;
    };
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), fc.integer({ min: 2, max: 50 }), (entries, times) => {
        const more = (name: keyof TierSizes): number =>
          storeReads({ sharedEntriesMax: entries, [name]: entries * times });
        const base = { sharedEntriesMax: entries, memoryEntries: entries };
        const before = storeReads(base) + 1e-6;
        expect(storeReads({ ...base, memoryEntries: entries * times })).toBeLessThanOrEqual(before);
        expect(storeReads({ ...base, sharedEntriesMax: entries * times })).toBeLessThanOrEqual(before);
        expect(more('redirectsPerS')).toBeGreaterThan(0);
        expect(storeReads({ ...base, redirectsPerS: 1_000 * times })).toBeGreaterThanOrEqual(
          storeReads(base) - 1e-6,
        );
      }),
      { numRuns: 20 },
    );
  });
});
