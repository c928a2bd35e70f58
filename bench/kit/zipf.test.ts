import { expect, test } from 'bun:test';
import { seededRandom } from '../../src/base/random.ts';
import { zipfTrace } from './zipf.ts';

test('ranks are drawn in proportion to their popularity', () => {
  const trace = zipfTrace(4, 1, 120_000, seededRandom(7));
  const counts = [0, 0, 0, 0];
  for (const rank of trace) counts[rank]! += 1;
  // 1 + 1/2 + 1/3 + 1/4 = 25/12, so the shares are 12, 6, 4 and 3 of 25.
  [12, 6, 4, 3].forEach((share, rank) => {
    expect(counts[rank]! / trace.length).toBeCloseTo(share / 25, 2);
  });
});

test('an exponent of zero requests every key equally often', () => {
  const counts = new Map<number, number>();
  for (const rank of zipfTrace(3, 0, 30_000, seededRandom(1))) counts.set(rank, (counts.get(rank) ?? 0) + 1);
  expect([...counts.keys()].sort()).toEqual([0, 1, 2]);
  for (const count of counts.values()) expect(count / 30_000).toBeCloseTo(1 / 3, 1);
});
