import { expect, test } from 'bun:test';
import { parseOptions } from './options.ts';

const known = ['warm', 'cold'];

test('without words everything runs with its standard settings', () => {
  const standard = {
    scenarios: [],
    rounds: 3,
    seconds: 2,
    links: 1_000_000,
    clicks: 2_000_000,
    profile: false,
  };
  expect(parseOptions([], known)).toEqual(standard);
});

test('scenarios and settings come in any order', () => {
  const options = parseOptions(['--links=10m', 'cold', '--rounds=7', '--profile', 'warm'], known);
  expect(options).toMatchObject({ scenarios: ['cold', 'warm'], links: 10_000_000, rounds: 7, profile: true });
});

test.each(['tepid', '--link=5', '--links', '--links=0', '--rounds=-1', '--rounds=many'])(
  '%s is refused',
  word => {
    expect(() => parseOptions([word], known)).toThrow();
  },
);
