import { expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { watchLoopDelay } from './loop-delay.ts';

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
