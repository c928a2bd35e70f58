import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { base62Alphabet, createCodeSpace, decodeBase62, encodeBase62 } from './code-space.ts';

const secret = Uint8Array.from({ length: 32 }, (_, index) => index);
const lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12] as const;

describe('a code space', () => {
  test.each(lengths)('reads back every id it wrote in %d characters', length => {
    const space = createCodeSpace(secret, length);
    const ids = fc.oneof(
      fc.integer({ min: 0, max: space.size - 1 }),
      fc.constantFrom(0, 1, space.size - 2, space.size - 1).filter(id => id >= 0),
    );
    fc.assert(
      fc.property(ids, id => {
        const code = space.encode(id);
        expect(code).toMatch(new RegExp(`^[0-9A-Za-z]{${length}}$`));
        expect(space.decode(code)).toBe(id);
      }),
    );
  });

  test('has 62^length ids, or 2^53 where that is less', () => {
    expect(lengths.slice(0, 8).map(length => createCodeSpace(secret, length).size)).toEqual(
      lengths.slice(0, 8).map(length => 62 ** length),
    );
    expect(createCodeSpace(secret, 7).size).toBe(3_521_614_606_208);
    for (const length of [9, 10, 11, 12]) expect(createCodeSpace(secret, length).size).toBe(2 ** 53);
  });

  test.each([1, 2, 3])('gives all 62^%d codes exactly once', length => {
    const space = createCodeSpace(secret, length);
    const codes = new Set<string>();
    for (let id = 0; id < space.size; id += 1) codes.add(space.encode(id));
    expect(codes.size).toBe(62 ** length);
  });

  test('decodes no code beyond 2^53, and every other one to the id that encodes to it', () => {
    const codes = fc.string({ unit: fc.constantFrom(...base62Alphabet), minLength: 9, maxLength: 12 });
    let beyond = 0;
    fc.assert(
      fc.property(codes, code => {
        const space = createCodeSpace(secret, code.length);
        const id = space.decode(code);
        if (id === undefined) beyond += 1;
        else expect(space.encode(id)).toBe(code);
      }),
    );
    // Two thirds of the codes of 9 characters lie below 2^53 and hardly any of the longer ones.
    expect(beyond).toBeGreaterThan(0);
  });

  test('draws the line at exactly 2^53', () => {
    const space = createCodeSpace(secret, 12);
    const left = Math.floor(2 ** 53 / space.rightRadix);
    const right = 2 ** 53 - left * space.rightRadix;
    expect(space.decode(space.encodePair(left, right - 1))).toBe(2 ** 53 - 1);
    expect(space.decode(space.encodePair(left, right))).toBeUndefined();
    expect(space.decode(space.encodePair(left, right + 1))).toBeUndefined();
    expect(space.decode(space.encodePair(space.leftRadix - 1, space.rightRadix - 1))).toBeUndefined();
  });

  test('gives a point the same code by its id and by its pair', () => {
    const space = createCodeSpace(secret, 7);
    expect(space.encodePair(5, 6)).toBe(space.encode(5 * 62 ** 4 + 6));
  });

  test.each([
    '',
    'abcdef',
    'abcdefgh',
    'abc-efg',
    'abcde_g',
    'abc efg',
    'abcdef\u0000',
    'äbcdefg',
    '日本語日本語日',
  ])('does not decode %p', text => {
    expect(createCodeSpace(secret, 7).decode(text)).toBeUndefined();
  });

  test('refuses an id that is not of the space', () => {
    const space = createCodeSpace(secret, 2);
    for (const id of [-1, 0.5, Number.NaN, 62 ** 2]) expect(() => space.encode(id)).toThrow();
    for (const [left, right] of [
      [62, 0],
      [0, 62],
      [-1, 0],
      [0, 0.5],
    ] as const) {
      expect(() => space.encodePair(left, right)).toThrow();
    }
  });

  test.each([0, 13, 6.5])('refuses length %d', length => {
    expect(() => createCodeSpace(secret, length)).toThrow();
  });

  test('gives unrelated codes under another secret and in another length', () => {
    const other = createCodeSpace(new Uint8Array(32).fill(9), 7);
    const space = createCodeSpace(secret, 7);
    const longer = createCodeSpace(secret, 8);
    for (let id = 0; id < 100; id += 1) {
      expect(other.encode(id)).not.toBe(space.encode(id));
      expect(longer.encode(id)).not.toContain(space.encode(id));
    }
  });

  test('keeps the codes of an installation forever', () => {
    // Changing any of these orphans the links of every existing installation.
    const codes = [6, 7, 8, 12].map(length => createCodeSpace(secret, length).encode(1_000));
    expect(codes).toEqual(['unCscl', 'ABF0RGL', 'YP5NJQRB', '1B0DiLAlAYgS']);
  });
});

describe('codes of consecutive ids', () => {
  const count = 62 * 1_000;
  const space = createCodeSpace(secret, 7);
  const codes = Array.from({ length: count }, (_, id) => space.encode(id));

  /**
   * Chi-square of 62 equally likely classes has mean 61 and deviation 11; 130 is passed by chance once in a
   * million. The secret is fixed, so the test does not depend on luck.
   */
  function expectUniform(values: readonly number[]): void {
    const counts = new Array<number>(62).fill(0);
    for (const value of values) counts[value]! += 1;
    const expected = values.length / 62;
    const chiSquare = counts.reduce((sum, seen) => sum + (seen - expected) ** 2 / expected, 0);
    expect(chiSquare).toBeLessThan(130);
  }

  test.each([0, 1, 2, 3, 4, 5, 6])('use each character equally often in position %d', position => {
    expectUniform(codes.map(code => digit(code, position)));
  });

  test.each([0, 1, 2, 3, 4, 5, 6])('differ by each amount equally often in position %d', position => {
    const steps = codes.slice(1).map((code, index) => digit(code, position) - digit(codes[index]!, position));
    expectUniform(steps.map(step => (step + 62) % 62));
  });

  test('do not lie near one another', () => {
    const size = 62 ** 7;
    const values = codes.map(code =>
      [...code].reduce((value, _, position) => value * 62 + digit(code, position), 0),
    );
    const distances = values.slice(1).map((value, index) => (value - values[index]! + size) % size);
    expectUniform(distances.map(distance => Math.floor((distance / size) * 62)));
  });

  function digit(code: string, position: number): number {
    return base62Alphabet.indexOf(code[position]!);
  }
});

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
