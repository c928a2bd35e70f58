import { expect, test } from 'bun:test';
import { parseOptions, scaledDown } from './options.ts';

const known = ['warm', 'cold'];

test('without words everything runs quickly with its standard settings', () => {
  const standard = {
    scenarios: [],
    rounds: 3,
    seconds: 2,
    links: 1_000_000,
    warmLinks: 1_000_000,
    clicks: 1_000_000,
    minutes: 30,
    profile: false,
  };
  expect(parseOptions([], known)).toEqual(standard);
});

test('scenarios and settings come in any order', () => {
  const options = parseOptions(
    ['--links=10m', 'cold', '--rounds=7', '--profile', 'warm', '--warm-links=5k'],
    known,
  );
  expect(options).toMatchObject({
    scenarios: ['cold', 'warm'],
    links: 10_000_000,
    warmLinks: 5_000,
    rounds: 7,
    profile: true,
  });
});

test('sizes that have no usual one can be given', () => {
  expect(parseOptions(['--per-second=12k'], known)).toMatchObject({ perSecond: 12_000 });
  expect(() => parseOptions(['--per-second=some'], known)).toThrow('--per-second');
});

test('full sizes are the real ones, unless another is asked for', () => {
  const full = parseOptions(['--full', '--rounds=2'], known);
  expect(full).toMatchObject({ links: 10_000_000, rounds: 2 });
  expect(scaledDown(full)).toEqual(['rounds 2 of 7']);
});

test('a quick run says what it scaled down, and a full one that it did not', () => {
  expect(scaledDown(parseOptions([], known))).toContain('links 1,000,000 of 10,000,000');
  expect(scaledDown(parseOptions(['--full'], known))).toEqual([]);
});

test.each([
  'tepid',
  '--link=5',
  '--links',
  '--links=',
  '--links=0',
  '--rounds=-1',
  '--rounds=many',
  '--full=yes',
  '--warmLinks=3',
])('%s is refused', word => {
  expect(() => parseOptions([word], known)).toThrow();
});
