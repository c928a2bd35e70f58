import { describe, expect, test } from 'bun:test';
import { defaultRates, parseRate, rateNames, ratesWith, visitRates } from './plans.ts';

test('a rate is a count and a unit, or off', () => {
  expect(parseRate('10/s')).toEqual({ count: 10, periodMs: 1_000 });
  expect(parseRate('60/min')).toEqual({ count: 60, periodMs: 60_000 });
  expect(parseRate('100/h')).toEqual({ count: 100, periodMs: 3_600_000 });
  expect(parseRate('1000000/day')).toEqual({ count: 1_000_000, periodMs: 86_400_000 });
  expect(parseRate('off')).toBeNull();
});

test('anything else is no rate', () => {
  for (const text of [
    '',
    '0/h',
    '-1/h',
    '1.5/h',
    '100',
    '/h',
    '100/',
    '100/hour',
    '1e3/h',
    '1000001/h',
    ' 1/h',
  ]) {
    expect(() => parseRate(text)).toThrow('is not a rate');
  }
});

describe('changes to the plans', () => {
  test('replace what they name and keep the rest', () => {
    expect(ratesWith([])).toEqual(defaultRates);
    expect(ratesWith(['free=200/h', 'anonymous=off'])).toEqual({
      ...defaultRates,
      free: { count: 200, periodMs: 3_600_000 },
      anonymous: null,
    });
  });

  test('can switch everything off', () => {
    expect(Object.values(ratesWith(['off']))).toEqual(rateNames.map(() => null));
  });

  test('that name nothing, or one thing twice, are rejected by name', () => {
    expect(() => ratesWith(['fre=1/h'])).toThrow('fre has no limit: did you mean free?');
    expect(() => ratesWith(['unlimited=1/h'])).toThrow('unlimited has no limit');
    expect(() => ratesWith(['free=1/h', 'free=2/h'])).toThrow('free is set twice');
    expect(() => ratesWith(['free'])).toThrow('is not a rate');
    expect(() => ratesWith(['off', 'free=1/h'])).toThrow('off has no limit');
  });
});

describe('rates of visits', () => {
  test('are for everyone, for the links of a plan, or both', () => {
    expect(visitRates(['off'])).toEqual({ everyone: null, byPlan: {} });
    expect(visitRates(['600/min'])).toEqual({ everyone: { count: 600, periodMs: 60_000 }, byPlan: {} });
    expect(visitRates(['anonymous=60/min', '600/min'])).toEqual({
      everyone: { count: 600, periodMs: 60_000 },
      byPlan: { anonymous: { count: 60, periodMs: 60_000 } },
    });
  });

  test('that contradict each other are rejected', () => {
    expect(() => visitRates(['600/min', '700/min'])).toThrow('second rate for everyone');
    expect(() => visitRates(['gold=1/min'])).toThrow('gold has no limit');
  });
});
