import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { Digest } from './digest.ts';

const digestOf = (records: Iterable<readonly [string, string]>): Digest => {
  const digest = new Digest();
  for (const [name, text] of records) digest.add(name, text);
  return digest;
};

describe('a digest', () => {
  test('of the same records is the same, in any order', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.string()), records => {
        const entries = Object.entries(records);
        const [one, other] = [digestOf(entries), digestOf(entries.toReversed())];
        expect(one.equals(other)).toBe(true);
        for (const name of Object.keys(records)) expect(one.differsAt(name, other)).toBe(false);
      }),
    );
  });

  test('points at every record that is missing or different, and at few others', () => {
    const same = Array.from({ length: 10_000 }, (_, n) => [`name${n}`, `text${n}`] as const);
    const one = digestOf([...same, ['gone', 'x'], ['changed', 'before']]);
    const other = digestOf([...same, ['new', 'x'], ['changed', 'after']]);
    expect(one.equals(other)).toBe(false);
    for (const name of ['gone', 'changed', 'new']) expect(one.differsAt(name, other)).toBe(true);
    expect(same.filter(([name]) => one.differsAt(name, other)).length).toBeLessThan(20);
  });
});
