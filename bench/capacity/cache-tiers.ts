/**
 * Computes where redirects are answered: at the edge, in a process's memory, in the shared cache, or by the store, from
 * the popularity of links, the sizes of the caches and their TTLs.
 *
 * An LRU cache behaves as if it kept each key for the same time after its last use (Che's approximation): the time for
 * which the number of kept keys equals the capacity. Redis evicts roughly like that. Memory evicts by SIEVE, which has
 * a higher hit ratio, so its figures here are on the safe side (cache-tiers.test.ts replays both). Memory has no TTL to
 * account for: an entry stays valid while the change feed proves that nothing has changed.
 */
import type { Popularity } from './popularity.ts';

export interface TierSizes {
  /** Redirects of all visitors, before the edge. */
  readonly redirectsPerS: number;
  /** How long the edge keeps a redirect; 0 without one. */
  readonly edgeTtlS: number;
  /** How many caches the edge consists of, each with different visitors. */
  readonly edgePlaces: number;
  /** Of each process. */
  readonly memoryEntries: number;
  readonly sharedTtlS: number;
  /** Infinite if the shared cache never evicts. */
  readonly sharedEntriesMax: number;
}

export interface Tiers {
  /** Shares of all redirects, which add up to one. */
  readonly edge: number;
  readonly memory: number;
  readonly shared: number;
  readonly store: number;
  /** Links in the shared cache at a time. */
  readonly sharedEntries: number;
}

export function answeredWhere(popularity: Popularity, sizes: TierSizes): Tiers {
  const { redirectsPerS, edgeTtlS, edgePlaces, memoryEntries, sharedTtlS, sharedEntriesMax } = sizes;
  const keptForS = edgePlaces === 0 ? 0 : edgeTtlS / edgePlaces;
  // The remaining rate of each key after each cache, bin by bin.
  const asked = popularity.map(({ keys, share }) => ({ keys, rate: share * redirectsPerS }));
  const pastEdge = asked.map(({ keys, rate }) => ({ keys, rate: rate / (1 + rate * keptForS) }));
  const memoryS = characteristicS(pastEdge, memoryEntries, keptByUse);
  const pastMemory = pastEdge.map(({ keys, rate }) => ({
    keys,
    rate: rate * (1 - keptByUse(rate, memoryS)),
  }));
  const keptShared: Kept = (rate, usedWithinS) => keptByBoth(rate, usedWithinS, sharedTtlS);
  const sharedS = characteristicS(pastMemory, sharedEntriesMax, keptShared);
  const pastShared = pastMemory.map(({ keys, rate }) => ({
    keys,
    rate: rate * (1 - keptShared(rate, sharedS)),
  }));
  const shareOf = (keys: readonly KeyRates[]): number => totalRate(keys) / redirectsPerS;
  return {
    edge: 1 - shareOf(pastEdge),
    memory: shareOf(pastEdge) - shareOf(pastMemory),
    shared: shareOf(pastMemory) - shareOf(pastShared),
    store: shareOf(pastShared),
    sharedEntries: occupancy(pastMemory, rate => keptShared(rate, sharedS)),
  };
}

/** The share of requests that a cache with this number of entries answers, whatever their rate. */
export function hitShare(popularity: Popularity, entries: number): number {
  const rates = popularity.map(({ keys, share }) => ({ keys, rate: share }));
  const usedWithin = characteristicS(rates, entries, keptByUse);
  return rates.reduce((sum, { keys, rate }) => sum + keys * rate * keptByUse(rate, usedWithin), 0);
}

/** The share of requests for the most popular keys: no cache with this number of entries can answer more. */
export function hitShareAtBest(popularity: Popularity, entries: number): number {
  let left = entries;
  let hits = 0;
  for (const { keys, share } of popularity) {
    const kept = Math.min(left, keys);
    hits += kept * share;
    left -= kept;
  }
  return hits;
}

interface KeyRates {
  readonly keys: number;
  /** Requests a second for each of the keys. */
  readonly rate: number;
}

/** The probability that a key requested at this rate is kept; for random requests also its hit ratio. */
type Kept = (rate: number, usedWithinS: number) => number;

const keptByUse: Kept = (rate, usedWithinS) => (rate === 0 ? 0 : -Math.expm1(-rate * usedWithinS));
/**
 * A key that is kept for some time after its last use, but for at most `ttlS` after it was read. A read is followed by
 * hits until a pause is too long: certainly up to that time, and then with a probability that decays exponentially, so
 * that without a limit the hits equal `keptByUse`.
 */
function keptByBoth(rate: number, usedWithinS: number, ttlS: number): number {
  if (rate === 0) return 0;
  const surelyS = Math.min(usedWithinS, ttlS);
  const hits = rate * (surelyS + (surelyS < ttlS ? likelyS(rate, usedWithinS, ttlS - surelyS) : 0));
  return hits / (1 + hits);
}

function likelyS(rate: number, usedWithinS: number, atMostS: number): number {
  const fallsOffS = Math.expm1(rate * usedWithinS) / rate - usedWithinS;
  if (fallsOffS <= 0) return 0;
  return fallsOffS > atMostS * practicallyNever ? atMostS : fallsOffS * -Math.expm1(-atMostS / fallsOffS);
}

const practicallyNever = 1e6;

const occupancy = (keys: readonly KeyRates[], keptAt: (rate: number) => number): number =>
  keys.reduce((sum, { keys: count, rate }) => sum + count * keptAt(rate), 0);
const totalRate = (keys: readonly KeyRates[]): number =>
  keys.reduce((sum, { keys: count, rate }) => sum + count * rate, 0);

const bisections = 100;
const shortestS = 1e-9;
const longestS = 1e18;

/** The time since the last use for which the kept keys just fill the cache; infinite if all keys fit. */
function characteristicS(keys: readonly KeyRates[], room: number, kept: Kept): number {
  const keptIn = (usedWithinS: number): number => occupancy(keys, rate => kept(rate, usedWithinS));
  if (keptIn(Number.POSITIVE_INFINITY) <= room) return Number.POSITIVE_INFINITY;
  let [low, high] = [Math.log(shortestS), Math.log(longestS)];
  for (let step = 0; step < bisections; step += 1) {
    const middle = (low + high) / 2;
    if (keptIn(Math.exp(middle)) > room) high = middle;
    else low = middle;
  }
  return Math.exp(low);
}
