import { expect, test } from 'bun:test';
import { connectionLimit } from './connection-limit.ts';

const limits = (files: string): string =>
  `Limit                     Soft Limit           Hard Limit           Units\nMax open files            ${files}                 ${files}                 files\n`;

test.each<[what: string, wanted: number, limits: string | undefined, expected: number]>([
  ['what is wanted, where there is plenty', 10_000, limits('1048576'), 10_000],
  ['what is wanted, where nothing is said', 10_000, undefined, 10_000],
  ['what is wanted, where there is no limit', 10_000, limits('unlimited'), 10_000],
  ['fewer, where the system gives fewer, with some kept back', 10_000, limits('4096'), 3_396],
  ['half, where there is little', 10_000, limits('300'), 150],
  ['never so few that nobody gets in', 10_000, limits('20'), 16],
])('connections are limited to %s', (_what, wanted, text, expected) => {
  expect(connectionLimit(wanted, text)).toBe(expected);
});
