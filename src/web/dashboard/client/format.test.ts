import { expect, test } from 'bun:test';
import {
  countryName,
  formatAgo,
  formatCompact,
  formatPercent,
  hostOf,
  isWebAddress,
  languageName,
  withScheme,
} from './format.ts';

test('numbers are shown in full below ten thousand', () => {
  expect([9_999, 12_345, 1_250_000].map(formatCompact)).toEqual(['9,999', '12.3K', '1.3M']);
  expect([0, 0.004, 0.5].map(formatPercent)).toEqual(['0%', '<1%', '50%']);
});

test('times are relative to now, and a date when more than a month ago', () => {
  const nowMs = Date.UTC(2026, 5, 15, 12);
  expect(formatAgo(nowMs - 3 * 60_000, nowMs)).toBe('3 min. ago');
  expect(formatAgo(nowMs + 2 * 86_400_000, nowMs)).toBe('in 2 days');
  expect(formatAgo(nowMs - 1_000, nowMs)).toBe('now');
  expect(formatAgo(Date.UTC(2025, 0, 2, 12), nowMs)).toBe('Jan 2, 2025');
});

test('only a possible country code gets the name of a country', () => {
  expect(countryName('DE')).toBe('Germany');
  expect(countryName('')).toBeUndefined();
  expect(countryName('<b>')).toBeUndefined();
});

test('languages have names, and hostile tags stay text', () => {
  expect(['de', 'pt-BR', 'de-12', '<b>', 'x', '(other)'].map(languageName)).toEqual([
    'German',
    'Brazilian Portuguese',
    'de-12',
    '<b>',
    'x',
    '(other)',
  ]);
});

test('a host is shown without www, and a text that is no address unchanged', () => {
  expect(hostOf('https://www.example.com/x')).toBe('example.com');
  expect(hostOf('nonsense')).toBe('nonsense');
});

test('only a web address is taken for one when it is pasted, and a bare host gets its scheme when typed', () => {
  expect(
    ['https://example.com/a', ' http://x.y ', 'ftp://x.y', 'some words', 'javascript:alert(1)'].map(
      isWebAddress,
      languageName,
    ),
  ).toEqual([true, true, false, false, false]);
  expect(withScheme('example.com/a')).toBe('https://example.com/a');
  expect(withScheme('javascript:alert(1)')).toBe('javascript:alert(1)');
});
