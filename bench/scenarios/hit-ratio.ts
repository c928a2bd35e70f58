/**
 * How well the cache in front of the store chooses what to keep: SIEVE beside LRU on skewed traffic, with and
 * without a crawler that asks for cold links one after the other.
 */
import { LRUCache } from 'lru-cache';
import { seededRandom } from '../../src/base/random.ts';
import { encodeBase62 } from '../../src/codes/base62.ts';
import { SieveCache } from '../../src/resolve/sieve.ts';
import { formatCount, measure, measureOf } from '../kit/measure.ts';
import { interleaved } from '../kit/rounds.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Cell } from '../kit/table.ts';
import { zipfTrace } from '../kit/zipf.ts';

const keyCount = 1_000_000;
const traceLength = 1_000_000;
/** Not counted: the cache fills during these. */
const warmUpLength = 300_000;
const exponents = [0.6, 0.8, 1.0];
const cacheShares = [0.01, 0.1];
const scanEvery = 4;
const roundsMax = 2;

interface Cache {
  get(key: string): number | undefined;
  set(key: string, value: number): unknown;
}

interface Replay {
  readonly hitShare: number;
  readonly nsPerRequest: number;
}

export const hitRatio: Scenario = {
  name: 'hit-ratio',
  summary: 'SIEVE beside LRU on Zipf traffic',
  async run({ options, note }) {
    const keys = Array.from({ length: keyCount }, (_, rank) => encodeBase62(rank, 7));
    const coldKeys = Array.from({ length: Math.ceil(traceLength / scanEvery) }, (_, turn) =>
      encodeBase62(keyCount + turn, 7),
    );
    const rows: Cell[][] = [];
    for (const exponent of exponents) {
      note(`Zipf ${exponent}`);
      const ranks = zipfTrace(keyCount, exponent, traceLength, seededRandom(exponent * 10));
      const plain = Array.from(ranks, rank => keys[rank]!);
      const scanned = plain.map((key, turn) => (turn % scanEvery === 0 ? coldKeys[turn / scanEvery]! : key));
      for (const share of cacheShares) {
        for (const [scan, trace] of [
          ['none', plain],
          ['every 4th', scanned],
        ] as const) {
          const capacity = keyCount * share;
          const replays = await interleaved(Math.min(options.rounds, roundsMax), {
            sieve: () => replay(new SieveCache<number>(capacity), trace, scan !== 'none'),
            lru: () => replay(new LRUCache<string, number>({ max: capacity }), trace, scan !== 'none'),
          });
          rows.push([exponent.toFixed(1), `${share * 100}%`, scan, ...figures(replays.sieve, replays.lru)]);
        }
      }
    }
    return {
      tables: [
        {
          title: `Hit ratio over ${formatCount(keyCount)} keys`,
          columns: ['Zipf', 'cache', 'cold scan', 'SIEVE %', 'LRU %', 'gain, points', 'SIEVE ns', 'LRU ns'],
          rows,
          notes: [
            'Hits among the requests that could be hits: keys of the scan never repeat and are left out.',
            'ns: one request, that is a look-up and on a miss the insertion with its eviction.',
          ],
        },
      ],
    };
  },
};

function figures(sieve: readonly Replay[], lru: readonly Replay[]): Cell[] {
  const percent = (replays: readonly Replay[]): number => replays[0]!.hitShare * 100;
  return [
    measure(percent(sieve), 2),
    measure(percent(lru), 2),
    measure(percent(sieve) - percent(lru), 2),
    measureOf(sieve, 'nsPerRequest'),
    measureOf(lru, 'nsPerRequest'),
  ];
}

function replay(cache: Cache, trace: readonly string[], hasScan: boolean): Replay {
  let hits = 0;
  let possible = 0;
  const startedNs = Bun.nanoseconds();
  for (let turn = 0; turn < trace.length; turn += 1) {
    const key = trace[turn]!;
    const isHit = cache.get(key) !== undefined;
    if (!isHit) cache.set(key, turn);
    if (turn >= warmUpLength && !(hasScan && turn % scanEvery === 0)) {
      possible += 1;
      if (isHit) hits += 1;
    }
  }
  const nsPerRequest = (Bun.nanoseconds() - startedNs) / trace.length;
  return { hitShare: hits / possible, nsPerRequest };
}
