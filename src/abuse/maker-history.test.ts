import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { ManualClock } from '../base/clock.ts';
import { UsualCountries, Velocity } from './judge.ts';

const minuteMs = 60_000;

describe('velocity', () => {
  test('counts the links of the last hour, for each client separately', () => {
    const clock = new ManualClock();
    const velocity = new Velocity(clock);
    for (let link = 1; link <= 60; link += 1) expect(velocity.note('a')).toBe(link);
    expect(velocity.note('b')).toBe(1);
    clock.advance(61 * minuteMs);
    expect(velocity.note('a')).toBe(1);
  });

  test('counts the links of a call together', () => {
    const velocity = new Velocity(new ManualClock());
    expect([velocity.note('a', 30), velocity.note('a'), velocity.note('b', 2)]).toEqual([30, 31, 2]);
  });

  test('never misses a link of the last 55 minutes and never counts one older than an hour', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(40), { maxLength: 40 }), gaps => {
        const clock = new ManualClock();
        const velocity = new Velocity(clock);
        const made: number[] = [];
        for (const gap of gaps) {
          clock.advance(gap * minuteMs);
          made.push(clock.now());
          const counted = velocity.note('a');
          const within = (minutes: number): number =>
            made.filter(at => clock.now() - at < minutes * minuteMs).length;
          expect(counted).toBeGreaterThanOrEqual(within(55));
          expect(counted).toBeLessThanOrEqual(within(60));
        }
      }),
    );
  });

  test('evicts the least recently active client when there are too many', () => {
    const velocity = new Velocity(new ManualClock(), 2);
    for (const key of ['a', 'b', 'a', 'c']) velocity.note(key);
    expect(velocity.size).toBe(2);
    expect(velocity.note('a')).toBe(3);
    expect(velocity.note('b')).toBe(1);
  });
});

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

  test('does not exist for an account that is everywhere', () => {
    const countries = new UsualCountries();
    const made = Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? 'DE' : 'FR'));
    expect(noteAll(countries, 'a', ...made).filter(usual => usual !== undefined)).toEqual([]);
  });

  test('changes when the account has moved', () => {
    const countries = new UsualCountries();
    noteAll(countries, 'a', ...new Array<string>(8).fill('DE'));
    noteAll(countries, 'a', ...new Array<string>(14).fill('FR'));
    expect(countries.note('a', 'DE')).toBe('FR');
  });

  test('is the same for many links of one call as for as many calls', () => {
    const [called, oneByOne] = [new UsualCountries(), new UsualCountries()];
    for (const [country, links] of [
      ['DE', 3],
      ['FR', 7],
      ['DE', 4],
      ['FR', 250],
      ['DE', 99],
      ['DE', 7],
    ] as const) {
      const usual = called.note('a', country, links);
      expect(usual).toBe(oneByOne.note('a', country));
      noteAll(oneByOne, 'a', ...new Array<string>(links - 1).fill(country));
    }
  });

  test('is remembered for a bounded number of accounts', () => {
    const countries = new UsualCountries(2);
    for (const account of ['a', 'b', 'c']) countries.note(account, 'DE');
    expect(countries.size).toBe(2);
  });
});
