import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { memoise } from './memo.ts';

describe('a memo', () => {
  test('computes a key once while it is remembered', () => {
    const asked: string[] = [];
    const memo = memoise(key => ({ at: asked.push(key) }), 100);
    expect(memo('a')).toBe(memo('a'));
    expect(asked).toEqual(['a']);
  });

  test('keeps what is asked for again and forgets what is not', () => {
    const asked: string[] = [];
    const memo = memoise(key => ({ at: asked.push(key) }), 10);
    for (let index = 0; index < 1_000; index += 1) {
      memo('popular');
      memo(`rare ${index}`);
    }
    expect(asked.filter(key => key === 'popular')).toHaveLength(1);
    memo('rare 0');
    expect(asked.filter(key => key === 'rare 0')).toHaveLength(2);
  });

  test('answers like the function itself and never remembers more than its limit', () => {
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 12 }), fc.array(fc.nat({ max: 30 })), (entriesMax, keys) => {
        let computed = 0;
        const memo = memoise(key => {
          computed += 1;
          return { key };
        }, entriesMax);
        for (const key of keys) expect(memo(`${key}`)).toEqual({ key: `${key}` });
        // As many new keys as it holds push out all others.
        for (let fresh = 0; fresh < entriesMax; fresh += 1) memo(`fresh ${fresh}`);
        computed = 0;
        const distinct = new Set(keys);
        for (const key of distinct) memo(`${key}`);
        expect(computed).toBe(distinct.size);
      }),
    );
  });
});
