import { expect, test } from 'bun:test';
import { machineTime, stolenPercent } from './stolen-time.ts';

const statOf = (...ticks: number[]) => `cpu  ${ticks.join(' ')} 0 0\ncpu0 1 2 3\n`;

test('stolen time is reported as a share of the time of all cores', () => {
  const before = machineTime(() => statOf(100, 0, 50, 800, 10, 0, 5, 35));
  const after = machineTime(() => statOf(150, 0, 60, 830, 10, 0, 5, 45));
  expect(before).toEqual({ totalTicks: 1_000, stolenTicks: 35 });
  expect(stolenPercent(before, after)).toBe(10);
});

test('a system that does not report it does not fail', () => {
  const unknown = machineTime(() => {
    throw new Error('no such file');
  });
  expect(stolenPercent(unknown, unknown)).toBeNaN();
});
