import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { blockIds, parseRegion, regionsMax, shareOf } from './id-share.ts';

describe('the shares of regions', () => {
  const counts = fc.integer({ min: 1, max: regionsMax });
  const sizes = fc.integer({ min: regionsMax * blockIds, max: 2 ** 53 });

  test('cover the whole space in whole blocks, and no id is in two of them', () => {
    fc.assert(
      fc.property(counts, sizes, (count, size) => {
        const shares = Array.from({ length: count }, (_, n) => shareOf({ number: n + 1, count }, size));
        expect(shares[0]!.first).toBe(0);
        expect(shares.at(-1)!.limit).toBe(size);
        for (const [n, { first, limit }] of shares.entries()) {
          expect(limit).toBeGreaterThan(first);
          expect(first % blockIds).toBe(0);
          if (n > 0) expect(first).toBe(shares[n - 1]!.limit);
        }
      }),
    );
  });

  test('are all of the space for an installation that has no regions', () => {
    expect(shareOf({ number: 1, count: 1 }, 62 ** 7)).toEqual({ first: 0, limit: 62 ** 7 });
  });
});

test('a region is one of at most sixty-four', () => {
  expect(parseRegion('1/1')).toEqual({ number: 1, count: 1 });
  expect(parseRegion('3/16')).toEqual({ number: 3, count: 16 });
  expect(parseRegion('64/64')).toEqual({ number: 64, count: 64 });
  for (const wrong of ['', '1', '0/2', '3/2', '1/65', '01/2', '1/2/3', ' 1/2', 'a/b', '1/0', '-1/2']) {
    expect([wrong, parseRegion(wrong)]).toEqual([wrong, undefined]);
  }
});
