import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { decodeBase62, encodeBase62 } from './base62.ts';

describe('base62', () => {
  test.each([
    [0, 1, '0'],
    [9, 1, '9'],
    [10, 1, 'A'],
    [35, 1, 'Z'],
    [36, 1, 'a'],
    [61, 1, 'z'],
    [62, 2, '10'],
    [0, 7, '0000000'],
    [62 ** 7 - 1, 7, 'zzzzzzz'],
    [0, 0, ''],
  ] as const)('writes %d in %d characters as %p', (value, length, text) => {
    expect(encodeBase62(value, length)).toBe(text);
    expect(decodeBase62(text)).toBe(value);
  });

  test('reads back every safe integer it wrote', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), value => {
        expect(decodeBase62(encodeBase62(value, 9))).toBe(value);
      }),
    );
  });

  test('codes of one length sort like their numbers', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (one, other) => {
        expect(encodeBase62(one, 9) < encodeBase62(other, 9)).toBe(one < other);
      }),
    );
  });

  test('reads a part of a text without cutting it out', () => {
    expect(decodeBase62('!10!', 1, 3)).toBe(62);
  });

  test.each(['-', '_', 'a b', '/', ':', '@', '[', '`', '{', 'é', '日', '\u0000', '😀'])(
    'does not read %p as a number',
    text => {
      expect(decodeBase62(text)).toBeUndefined();
    },
  );
});
