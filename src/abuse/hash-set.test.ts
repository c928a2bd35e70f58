import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { HashSet } from './hash-set.ts';

const key = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const names = fc.array(fc.stringMatching(/^[a-z0-9.-]{0,24}$/), { maxLength: 300 });

describe('a set of hashes', () => {
  test('has what was added and nothing else, however often it grew', () => {
    fc.assert(
      fc.property(names, names, (added, others) => {
        const set = new HashSet(key);
        const model = new Set<string>();
        for (const name of added) {
          expect(set.add(1, name)).toBe(!model.has(name));
          model.add(name);
        }
        expect(set.size).toBe(model.size);
        for (const name of [...added, ...others]) expect(set.has(1, name)).toBe(model.has(name));
      }),
    );
  });

  test('says the same after it has crossed to another thread', () => {
    fc.assert(
      fc.property(names, names, (added, others) => {
        const set = new HashSet(key);
        for (const name of added) set.add(1, name);
        const before = [...added, ...others].map(name => set.has(1, name));
        const arrived = new HashSet(key, structuredClone(set.release()));
        expect([...added, ...others].map(name => arrived.has(1, name))).toEqual(before);
      }),
    );
  });

  test('keeps a text under one tag apart from the same text under another', () => {
    const set = new HashSet(key);
    set.add(1, 'evil.example');
    expect(set.has(2, 'evil.example')).toBe(false);
  });

  test('finds the end of a longer text without cutting it', () => {
    const set = new HashSet(key);
    set.add(1, 'evil.example');
    expect(set.has(1, 'www.evil.example', 4)).toBe(true);
    expect(set.has(1, 'www.evil.example')).toBe(false);
  });

  test('takes less than eleven bytes for each of many names', () => {
    const set = new HashSet(key);
    for (let index = 0; index < 10_000; index += 1) set.add(1, `name${index}`);
    set.release();
    expect(set.bytes / set.size).toBeLessThan(11);
    expect(set.has(1, 'name9999')).toBe(true);
  });
});
