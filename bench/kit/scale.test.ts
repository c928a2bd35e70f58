import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { formatTick, linearScale, logScale, spanScale } from './scale.ts';

const figure = fc.double({ min: 1e-3, max: 1e9, noNaN: true });

test('a linear axis begins at zero, ends beyond every figure, and has not too many ticks', () => {
  fc.assert(
    fc.property(fc.array(figure, { minLength: 1 }), fc.integer({ min: 2, max: 10 }), (values, ticksMax) => {
      const { at, ticks } = linearScale(values, ticksMax);
      expect(ticks[0]).toBe(0);
      expect(ticks.at(-1)!).toBeGreaterThanOrEqual(Math.max(...values) * (1 - 1e-6));
      expect(ticks.length).toBeWithin(2, ticksMax + 3);
      for (const value of values) expect(at(value)).toBeWithin(0, 1 + 1e-6);
    }),
  );
});

test('ticks lie where their figures are', () => {
  const linear = linearScale([0.2, 1.13], 6);
  expect(linear.ticks).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1, 1.2]);
  expect(linear.at(0.6)).toBeCloseTo(0.5, 9);
  const logarithmic = logScale([0.03, 40]);
  expect(logarithmic.ticks).toEqual([0.01, 0.1, 1, 10, 100]);
  expect(logarithmic.at(1)).toBeCloseTo(0.5, 9);
});

test('a span is shown from its first to its last figure', () => {
  const { at, ticks } = spanScale([1, 2, 3], 8);
  expect([at(1), at(3)]).toEqual([0, 1]);
  expect(ticks).toEqual([1, 1.25, 1.5, 1.75, 2, 2.25, 2.5, 2.75, 3]);
  expect(spanScale([0.4, 29.7], 8).ticks).toEqual([5, 10, 15, 20, 25]);
  expect(spanScale([7], 8).at(7)).toBe(0);
  expect(spanScale([], 8).at(0)).toBe(0);
});

test('figures below zero have their place', () => {
  const { at, ticks } = linearScale([-3, 5], 8);
  expect(ticks[0]).toBeLessThanOrEqual(-3);
  expect(at(-3)).toBeGreaterThanOrEqual(0);
});

test('what cannot be drawn does no harm', () => {
  expect(linearScale([Number.NaN], 5).ticks.length).toBeGreaterThan(1);
  expect(linearScale([], 5).at(0)).toBe(0);
  expect(logScale([]).ticks).toEqual([1, 10]);
  expect(logScale([0, Number.NaN, 5]).ticks).toEqual([1, 10]);
});

test('ticks are written short', () => {
  expect([0, 0.05, 1, 2_500, 40_000, 1_500_000].map(formatTick)).toEqual([
    '0',
    '0.05',
    '1',
    '2,500',
    '40 k',
    '1.5 M',
  ]);
});
