import { expect, test } from 'bun:test';
import { connectionLimits, workerCount } from './machine.ts';

const limits = (files: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${files}                 ${files}                 files\n`;

test.each<[what: string, wanted: number, limits: string | undefined, connections: number, reserve: number]>([
  ['what is wanted, where there is plenty', 10_000, limits('1048576'), 10_000, 4_096],
  ['what is wanted, where nothing is said', 10_000, undefined, 10_000, 4_096],
  ['what is wanted, where there is no limit', 10_000, limits('unlimited'), 10_000, 4_096],
  ['fewer, where the system gives fewer, with some kept back', 10_000, limits('4096'), 3_396, 500],
  ['half, where there is little', 10_000, limits('300'), 150, 50],
  ['never so few that nobody gets in', 10_000, limits('20'), 16, 1],
])('connections are limited to %s', (_what, wanted, text, connectionsMax, reserveMax) => {
  expect(connectionLimits(wanted, text)).toEqual({ connectionsMax, reserveMax });
});

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
