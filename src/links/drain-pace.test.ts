import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { DrainPace } from './drain.ts';

let clock: ManualClock;
beforeEach(() => {
  clock = new ManualClock();
});

/** Takes as much as is allowed, as soon as it is, for a time; returns the sizes. */
function takeFor(pace: DrainPace, ms: number): number[] {
  const sizes: number[] = [];
  for (const endMs = clock.monotonicMs() + ms; clock.monotonicMs() < endMs; ) {
    const allowed = pace.allowed;
    pace.spend(allowed);
    if (allowed > 0) sizes.push(allowed);
    clock.advance(Math.max(1, pace.waitMs));
  }
  return sizes;
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

test('lets one second’s worth through at once after a pause, and never more', () => {
  const pace = new DrainPace(clock, 200);
  expect(pace.allowed).toBe(200);
  pace.spend(200);
  expect(pace.allowed).toBe(0);
  clock.advance(60_000);
  expect(pace.allowed).toBe(200);
});

test('under load keeps to its rate, in batches', () => {
  const pace = new DrainPace(clock, 200);
  pace.spend(200);
  const sizes = takeFor(pace, 60_000);
  expect(Math.abs(sum(sizes) - 12_000)).toBeLessThanOrEqual(20);
  expect(Math.min(...sizes)).toBe(20);
});

test('a rate below one batch still lets single links through', () => {
  const pace = new DrainPace(clock, 1);
  expect(pace.allowed).toBe(1);
  pace.spend(1);
  expect(pace.waitMs).toBe(1_000);
  expect(sum(takeFor(pace, 60_000))).toBeGreaterThanOrEqual(59);
});
