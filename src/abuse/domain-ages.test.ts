import { describe, expect, test } from 'bun:test';
import { compileAges, createDomainAge, knownDomains } from './domain-ages.ts';

const key = new Uint8Array(8).fill(3);
const now = Date.UTC(2026, 5, 15, 12);
const dayMs = 24 * 60 * 60 * 1_000;
const ageIn = (text: string) => createDomainAge(compileAges(text, key, now), key);

describe('a feed of domain ages', () => {
  test('is read in the formats that feeds use', () => {
    const age = ageIn(
      '# domain and day\nfresh.example 2026-06-13\ncomma.example,2026-06-14,registrar\ntab.example\t2026-06-15T08:00:00Z\nBücher.example;2026-06-12\n',
    );
    expect(age('fresh.example', now)).toBe(2);
    expect(age('comma.example', now)).toBe(1);
    expect(age('tab.example', now)).toBe(0);
    expect(age('xn--bcher-kva.example', now)).toBe(3);
    expect(age('other.example', now)).toBeUndefined();
  });

  test('makes domains older as days go by', () => {
    const age = ageIn('fresh.example 2026-06-15');
    expect(age('fresh.example', now + 3 * dayMs)).toBe(3);
    expect(age('fresh.example', now + 10 * dayMs)).toBe(10);
  });

  test('keeps only new domains, and none from the future', () => {
    const ages = compileAges(
      'old.example 2026-06-08\nnew.example 2026-06-09\nnext.example 2026-06-16\nlater.example 2026-06-17',
      key,
      now,
    );
    expect(knownDomains(ages)).toBe(2);
    expect(createDomainAge(ages, key)('next.example', now)).toBe(0);
  });

  test('means the registered domain, whatever host it names', () => {
    expect(ageIn('www.fresh.co.uk 2026-06-14')('fresh.co.uk', now)).toBe(1);
  });

  test('counts the lines it cannot read', () => {
    const { lines, unreadable, examples } = compileAges(
      'good.example 2026-06-14\n<html>\nbad.example 14.06.2026\nx 2026-06-14',
      key,
      now,
    );
    expect({ lines, unreadable }).toEqual({ lines: 4, unreadable: 3 });
    expect(examples[0]).toBe('line 2: "<html>"');
  });
});
