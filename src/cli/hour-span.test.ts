import { expect, test } from 'bun:test';
import { isOfWholeDays, parseSpan } from './hour-span.ts';

const at = Date.UTC;
const now = at(2026, 10, 16, 9, 30);

test.each([
  ['2026-11-01T10', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01T10:00Z', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01T10:00:00.000Z', at(2026, 10, 1, 10), at(2026, 10, 1, 11)],
  ['2026-11-01', at(2026, 10, 1), at(2026, 10, 2)],
  ['2026-11-01..2026-11-03', at(2026, 10, 1), at(2026, 10, 4)],
  ['2026-11-01T22..2026-11-02T01', at(2026, 10, 1, 22), at(2026, 10, 2, 2)],
  ['2026-11-16T07..', at(2026, 10, 16, 7), at(2026, 10, 16, 10)],
])('%s is the hours it says', (text, from, to) => {
  expect(parseSpan(text, now)).toEqual({ from, to });
});

test.each([
  'yesterday',
  '',
  '2026-11',
  '2026-02-30',
  '2026-11-01T24',
  '2026-11-01T10:30',
  '..2026-11-01',
  '2026-11-02..2026-11-01',
  '2026-12-01..',
])('“%s” is refused', text => {
  expect(() => parseSpan(text, now)).toThrow(/must be an hour|ends before it begins/);
});

test('whole days are told from hours', () => {
  expect(isOfWholeDays(parseSpan('2026-11-01..2026-11-03', now))).toBe(true);
  expect(isOfWholeDays(parseSpan('2026-11-01T10', now))).toBe(false);
});
