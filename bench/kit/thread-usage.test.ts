import { expect, test } from 'bun:test';
import { busiestSince, workerCpuMs } from './thread-usage.ts';

test('the busiest thread is the one that worked most since the first reading', () => {
  const before = new Map([
    ['old', 900],
    ['busy', 100],
  ]);
  const after = new Map([
    ['old', 910],
    ['busy', 150],
    ['new', 20],
  ]);
  expect(busiestSince(before, after)).toBe(50);
  expect(busiestSince(new Map(), new Map())).toBeNaN();
});

test('a process that is not there has no threads', () => {
  expect(workerCpuMs(2 ** 22 + 1).size).toBe(0);
});
