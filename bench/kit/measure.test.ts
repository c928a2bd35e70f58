import { expect, test } from 'bun:test';
import { formatMeasure, measure, measureOf, median, ratio } from './measure.ts';

test('the median of an even number of values lies between the two in the middle', () => {
  expect(median([9, 1, 4])).toBe(4);
  expect(median([9, 1, 4, 6])).toBe(5);
});

test('a measure shows its median, its spread and its digits', () => {
  expect(formatMeasure(measure([1200, 1000, 1500]))).toBe('1,200 (1,000..1,500)');
  expect(formatMeasure(measure([0.25, 0.5], 2))).toBe('0.38 (0.25..0.50)');
});

test('a measure without spread is one number', () => {
  expect(formatMeasure(measure([3.001, 3.002], 1))).toBe('3.0');
});

test('what could not be measured is a dash', () => {
  expect(formatMeasure(measure([]))).toBe('–');
  expect(formatMeasure(measure([Number.NaN, Number.NaN]))).toBe('–');
});

test('a ratio compares what was measured in the same round', () => {
  const rounds = [
    { ours: 10, theirs: 20 },
    { ours: 30, theirs: 60 },
  ];
  expect(ratio(measureOf(rounds, 'ours'), measureOf(rounds, 'theirs')).values).toEqual([0.5, 0.5]);
});
