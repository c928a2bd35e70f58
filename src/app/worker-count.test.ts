import { expect, test } from 'bun:test';
import { workerCount } from './worker-count.ts';

const noFile = (): undefined => undefined;

test('there are as many workers as were asked for', () => {
  expect(workerCount(3, noFile, 8)).toBe(3);
});

test.each([
  ['there is no quota file', undefined, 8],
  ['there is no quota', 'max 100000\n', 8],
  ['the quota is two cores', '200000 100000\n', 2],
  ['the quota is less than a core', '20000 100000\n', 1],
  ['the quota is more than there is', '1600000 100000\n', 8],
  ['the quota makes no sense', 'lots\n', 8],
])('there is one worker for each core that may be used: %s', (_, text, expected) => {
  expect(workerCount('auto', () => text, 8)).toBe(expected);
});
