import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { Histogram } from './histogram.ts';

test('a quantile is within one per cent of the exact one', () => {
  const latencies = fc.array(fc.double({ min: 1, max: 1e7, noNaN: true }), { minLength: 1, maxLength: 300 });
  fc.assert(
    fc.property(latencies, fc.constantFrom(0.5, 0.9, 0.99, 0.999, 1), (values, share) => {
      const histogram = new Histogram();
      for (const value of values) histogram.record(value);
      const exact = values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1]!;
      const estimate = histogram.quantileUs(share);
      expect(estimate).toBeGreaterThanOrEqual(exact * 0.9999);
      expect(estimate).toBeLessThanOrEqual(exact * 1.0101);
    }),
  );
});

test('an empty histogram and absurd values are harmless', () => {
  const histogram = new Histogram();
  expect(histogram.quantileUs(0.99)).toBe(0);
  histogram.record(0);
  histogram.record(1e12);
  expect(histogram.count).toBe(2);
  expect(histogram.quantileUs(0.5)).toBeLessThan(2);
});

test('a stall counts for every visitor who would have come during it', () => {
  const histogram = new Histogram();
  for (let request = 0; request < 99; request += 1) histogram.record(1_000);
  histogram.record(100_000);
  expect(histogram.quantileUs(0.9)).toBeLessThan(1_020);
  histogram.addOmitted(1_000);
  // One request each millisecond of the stall: about 98 more, waiting from 99 ms down to 2 ms.
  expect(histogram.count).toBeWithin(196, 200);
  expect(histogram.quantileUs(0.75) / 1_000).toBeWithin(48, 53);
});
