import { expect, test } from 'bun:test';
import { chartData, peakOf } from './chart-data.ts';

const bucket = (minute: number, clicks: number, filling = false) => ({
  start: new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString(),
  clicks,
  botClicks: 1,
  suspiciousClicks: 0,
  filling,
});

test('buckets that are still filling are a line of their own that begins at the last final one', () => {
  const { clicks, filling } = chartData([bucket(0, 5), bucket(1, 7), bucket(2, 3, true)], undefined);
  expect(clicks).toEqual([5, 7, null]);
  expect(filling).toEqual([null, 7, 3]);
});

test('without filling buckets there is no such line, and with nothing else only it', () => {
  expect(chartData([bucket(0, 5)], undefined).filling).toEqual([null]);
  expect(chartData([bucket(0, 5, true)], undefined)).toMatchObject({ clicks: [null], filling: [5] });
});

test('the time before is drawn step by step, however many it has', () => {
  const { previous } = chartData([bucket(0, 1), bucket(1, 1)], [bucket(-2, 9)]);
  expect(previous).toEqual([9, null]);
});

test('the peak is the first of the highest', () => {
  expect(peakOf([bucket(0, 1), bucket(1, 4), bucket(2, 4)])).toEqual(bucket(1, 4));
  expect(peakOf([])).toBeUndefined();
});
