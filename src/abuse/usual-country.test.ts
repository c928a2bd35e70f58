import { describe, expect, test } from 'bun:test';
import { UsualCountries } from './usual-country.ts';

const noteAll = (countries: UsualCountries, account: string, ...made: string[]) =>
  made.map(country => countries.note(account, country));

describe('the usual country of an account', () => {
  test('is known after five links from it', () => {
    const countries = new UsualCountries();
    expect(noteAll(countries, 'a', 'DE', 'DE', 'DE', 'DE', 'DE', 'FR')).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      'DE',
    ]);
    expect(countries.note('b', 'FR')).toBeUndefined();
  });

  test('does not exist for whoever is everywhere', () => {
    const countries = new UsualCountries();
    const made = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'DE' : 'FR'));
    expect(noteAll(countries, 'a', ...made).filter(usual => usual !== undefined)).toEqual([]);
  });

  test('changes with whoever has moved', () => {
    const countries = new UsualCountries();
    noteAll(countries, 'a', ...new Array<string>(8).fill('DE'));
    noteAll(countries, 'a', ...new Array<string>(14).fill('FR'));
    expect(countries.note('a', 'DE')).toBe('FR');
  });

  test('is remembered for a bounded number of accounts', () => {
    const countries = new UsualCountries(2);
    for (const account of ['a', 'b', 'c']) countries.note(account, 'DE');
    expect(countries.size).toBe(2);
  });
});
