import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { distinctSpans, zipfPopularity } from './popularity.ts';

test('bins add up to the keys and to all requests', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 10_000_000_000 }),
      fc.double({ min: 0, max: 2, noNaN: true }),
      (keys, exponent) => {
        const bins = zipfPopularity(keys, exponent);
        expect(bins.reduce((sum, bin) => sum + bin.keys, 0)).toBe(keys);
        expect(bins.reduce((sum, bin) => sum + bin.keys * bin.share, 0)).toBeCloseTo(1, 9);
        expect(bins.length).toBeLessThan(2_000);
      },
    ),
    { numRuns: 50 },
  );
});

test.each([0.6, 0.9, 1, 1.2])(
  'the most popular tenth has the share that adding up rank by rank gives (%p)',
  exponent => {
    const keys = 100_000;
    const weights = Array.from({ length: keys }, (_, index) => (index + 1) ** -exponent);
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    const exact = weights.slice(0, keys / 10).reduce((sum, weight) => sum + weight, 0) / total;
    let left = keys / 10;
    let binned = 0;
    for (const bin of zipfPopularity(keys, exponent)) {
      const taken = Math.min(left, bin.keys);
      binned += taken * bin.share;
      left -= taken;
    }
    expect(binned).toBeCloseTo(exact, 4);
  },
);

test('keys that are requested once are in one minute each, and one that all visitors request is in all of them', () => {
  const thin = [{ keys: 1_000, share: 1 / 1_000 }];
  expect(distinctSpans(thin, 1, 1_440)).toBeCloseTo(1, 2);
  expect(distinctSpans([{ keys: 1, share: 1 }], 1e9, 1_440)).toBeCloseTo(1_440, 6);
});
