import { heapStats } from 'bun:jsc';
import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { boundedText } from './bounded-text.ts';

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
