import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { boundsSeconds, Histogram, watchLoopDelay } from './metrics.ts';

test('a duration is counted at every bound that it does not exceed, and beyond the last at none but the endless one', () => {
  const durations = new Histogram();
  for (const milliseconds of [0, 10, 10.001, 60_000]) durations.note(milliseconds);
  const at = (bound: number | string) =>
    durations.buckets().find(({ labels }) => labels?.le === bound)?.value;
  expect([at(0.005), at(0.01), at(0.02), at(10), at('+Inf')]).toEqual([1, 2, 3, 3, 4]);
  expect(durations.count).toBe(4);
  expect(durations.sumSeconds).toBeCloseTo(60.020001);
});

test('buckets never fall from one bound to the next, and the last holds everything', () => {
  fc.assert(
    fc.property(fc.array(fc.double({ min: 0, max: 20_000, noNaN: true })), noted => {
      const durations = new Histogram();
      for (const milliseconds of noted) durations.note(milliseconds);
      const values = durations.buckets().map(({ value }) => value);
      expect(values).toHaveLength(boundsSeconds.length + 1);
      expect(values).toEqual(values.toSorted((a, b) => a - b));
      expect(values.at(-1)).toBe(noted.length);
    }),
  );
});

test('a process that is held up notes by how much, and one that is not notes nothing worth mentioning', () => {
  const clock = new ManualClock();
  const { delays, stop } = watchLoopDelay(clock);
  clock.advance(1_000);
  expect([delays.count, delays.sumSeconds]).toEqual([10, 0]);
  // Nothing runs for a quarter of a second: what was due after 100 ms comes 150 ms late.
  clock.set(clock.now() + 250);
  clock.advance(0);
  expect(delays.sumSeconds).toBeCloseTo(0.15);
  stop();
  clock.advance(1_000);
  expect(delays.count).toBe(12);
});
