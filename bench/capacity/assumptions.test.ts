import { describe, expect, test } from 'bun:test';
import {
  assumptionNames,
  assumptionRows,
  capacityUsage,
  defaultAssumptions,
  flagOf,
  parseCapacityOptions,
} from './assumptions.ts';

const parse = (...words: string[]) => parseCapacityOptions(words, ['redirectUs']);

describe('the words after npm run capacity', () => {
  test('leave everything at the scale that Terse is designed for when there are none', () => {
    const { assumptions, given, isJson, showsFigures } = parse();
    expect(assumptions).toEqual(defaultAssumptions);
    expect(assumptions).toMatchObject({ linksPerDay: 100e6, redirectsPerDay: 10e9, peakFactor: 5 });
    expect([given.size, isJson, showsFigures]).toEqual([0, false, false]);
  });

  test('change an assumption, a choice and a figure', () => {
    const { assumptions, given } = parse(
      '--redirects-per-day=2.5b',
      '--zipf=1.1',
      '--store=postgres',
      '--set=redirectUs=20',
    );
    expect(assumptions).toMatchObject({ redirectsPerDay: 2.5e9, zipf: 1.1, store: 'postgres' });
    expect([...given]).toEqual([['redirectUs', 20]]);
  });

  test('can request another form of the answer', () => {
    expect(parse('--json', '--figures')).toMatchObject({ isJson: true, showsFigures: true });
  });

  test.each([
    ['--zipf=9', '--zipf takes a number from 0 to 3'],
    ['--links-per-day=many', '--links-per-day takes a number'],
    ['--links-per-day=', '--links-per-day takes a number'],
    ['--store=oracle', '--store is dynamodb or postgres'],
    ['--set=nothing=1', '"--set=nothing=1" is not known'],
    ['--set=redirectUs=x', '--set=redirectUs takes a number'],
    ['--speed=9', '"--speed=9" is not known'],
    ['fast', '"fast" is not known'],
  ])('are refused where they make no sense: %s', (word, message) => {
    expect(() => parse(word)).toThrow(message);
  });

  test('are all explained, with defaults that would be accepted', () => {
    for (const name of assumptionNames) {
      const { default: value, min, max } = assumptionRows[name];
      expect(capacityUsage).toContain(`--${flagOf(name)} `);
      expect(value >= min && value <= max).toBe(true);
    }
  });
});
