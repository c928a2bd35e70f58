import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { boundedText, memoise } from './bounded-text.ts';

describe('a bounded text', () => {
  test('is the text itself when it is short and well-formed', () => {
    expect(boundedText('Grüße 👋', 512)).toBe('Grüße 👋');
  });

  test('is never longer than asked, and always well-formed', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 80 }), fc.nat({ max: 60 }), (text, lengthMax) => {
        const bounded = boundedText(text, lengthMax);
        expect(bounded.length).toBeLessThanOrEqual(lengthMax);
        expect(bounded.isWellFormed()).toBeTrue();
        expect(boundedText(bounded, lengthMax)).toBe(bounded);
      }),
    );
  });

  test('does not end in half a character', () => {
    expect(boundedText('ab👋', 3)).toBe('ab\ufffd');
    expect(boundedText('ab\ud83d', 512)).toBe('ab\ufffd');
  });

  test('does not keep the long text alive', () => {
    const kept: string[] = [];
    Bun.gc(true);
    const before = heldBytes();
    for (let index = 0; index < 500; index += 1) {
      kept.push(boundedText(Buffer.alloc(65_536, 'x').toString('latin1') + index, 512));
    }
    Bun.gc(true);
    expect(kept).toHaveLength(500);
    // The long texts together are 33 MB, the kept ones a quarter of one.
    expect(heldBytes() - before).toBeLessThan(8_000_000);
  });
});

function heldBytes(): number {
  const { heapSize, extraMemorySize } = heapStats();
  return heapSize + extraMemorySize;
}

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
