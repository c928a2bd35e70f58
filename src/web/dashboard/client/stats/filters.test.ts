import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { type DimensionName, dimensionNames } from '../../../../clicks/dimensions.ts';
import { accountStatsParameters } from '../../../../http/stats-schemas.ts';
import { filterQuery, filtersIn, isFiltered, meets, toggled, type ViewFilter } from './filters.ts';

const arbitrary = fc.record({
  dimension: fc.constantFrom(...dimensionNames),
  values: fc.uniqueArray(fc.string({ unit: 'grapheme-ascii', maxLength: 20 }), {
    minLength: 1,
    maxLength: 5,
  }),
  isExcluded: fc.boolean(),
});
const tricky: ViewFilter[] = [
  { dimension: 'utmCampaign', values: ['!a,b\\', '', '\\'], isExcluded: false },
  { dimension: 'referrer', values: [''], isExcluded: false },
  { dimension: 'referrer', values: [''], isExcluded: true },
];

test('filters survive the address bar, and the API reads the same from it', () => {
  fc.assert(
    fc.property(arbitrary, filter => {
      const query = new URLSearchParams(filterQuery([filter]));
      const found = filtersIn(new URLSearchParams(String(query)), false);
      expect(found).toEqual([filter]);
      const asked = accountStatsParameters.parse(Object.fromEntries(query));
      expect(asked[filter.dimension]).toEqual({ values: filter.values, isExcluded: filter.isExcluded });
    }),
    { examples: tricky.map(filter => [{ ...filter, values: [...filter.values] }]) },
  );
});

test('a value is added to its dimension, and removed when it is chosen again', () => {
  const after = (query: string, dimension: DimensionName, value: string): string | undefined =>
    toggled(filtersIn(new URLSearchParams(query), false), dimension, value)[dimension];
  expect(after('', 'country', 'DE')).toBe('DE');
  expect(after('country=DE', 'country', 'FR')).toBe('DE,FR');
  expect(after('country=DE,FR', 'country', 'DE')).toBe('FR');
  expect(after('country=FR', 'country', 'FR')).toBeUndefined();
  expect(after('', 'referrer', '')).toBe(',');
  expect(after('country=!DE', 'country', 'FR')).toBe('!DE,FR');
});

test('a link’s page has no filter by link', () => {
  const query = new URLSearchParams('link=a&country=DE&color=blue');
  expect(filtersIn(query, true).map(({ dimension }) => dimension)).toEqual(['country']);
  expect(filtersIn(query, false).map(({ dimension }) => dimension)).toEqual(['country', 'link']);
});

test('a live click must pass all filters', () => {
  const filters = filtersIn(new URLSearchParams('country=DE,FR&browser=!Firefox'), true);
  expect(meets({ country: 'FR', browser: 'Chrome' }, filters)).toBe(true);
  expect(meets({ country: 'FR', browser: 'Firefox' }, filters)).toBe(false);
  expect(meets({ country: 'US', browser: 'Chrome' }, filters)).toBe(false);
  expect(isFiltered(filters, 'country', 'DE')).toBe(true);
  expect(isFiltered(filters, 'os', 'DE')).toBe(false);
});
