import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { createPermutation, PairPermutation } from './permutation.ts';

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 7);

/** Checks that every point is hit exactly once and that each leads back to the id it came from. */
function expectBijection(size: number): void {
  const permutation = createPermutation(key, size);
  const hit = new Uint8Array(size);
  for (let id = 0; id < size; id += 1) {
    const point = permutation.forward(id);
    if (!(point >= 0 && point < size)) throw new Error(`size ${size}: id ${id} left the domain`);
    if (hit[point] !== 0) throw new Error(`size ${size}: point ${point} is hit twice`);
    if (permutation.backward(point) !== id) throw new Error(`size ${size}: id ${id} does not come back`);
    hit[point] = 1;
  }
}

describe('a permutation', () => {
  test('is a bijection with its inverse for every size from 1 to 600', () => {
    for (let size = 1; size <= 600; size += 1) expectBijection(size);
  });

  test.each([62 ** 2, 62 ** 3, 997, 1_023, 4_099, 9_973, 65_535, 65_537, 104_729, 249_989, 250_001])(
    'is a bijection with its inverse for size %d',
    size => {
      expectBijection(size);
    },
  );

  test('comes back to the id for any size up to 2^53', () => {
    const sizeAndId = fc
      .integer({ min: 1, max: Number.MAX_SAFE_INTEGER })
      .chain(size => fc.tuple(fc.constant(size), fc.integer({ min: 0, max: size - 1 })));
    fc.assert(
      fc.property(sizeAndId, ([size, id]) => {
        const permutation = createPermutation(key, size);
        const point = permutation.forward(id);
        expect(point).toBeWithin(0, size);
        expect(permutation.backward(point)).toBe(id);
      }),
    );
  });

  test('covers the largest size there is', () => {
    const permutation = createPermutation(key, 2 ** 53);
    for (const id of [0, 1, 2 ** 52, 2 ** 53 - 1]) {
      expect(permutation.backward(permutation.forward(id))).toBe(id);
    }
  });

  test.each([0, -1, 1.5, 2 ** 53 + 2, Number.NaN])('refuses size %d', size => {
    expect(() => createPermutation(key, size)).toThrow(RangeError);
  });

  test('is different for keys that differ in one bit', () => {
    for (let bit = 0; bit < 128; bit += 1) {
      const other = key.slice();
      other[bit >> 3]! ^= 1 << (bit & 7);
      const [one, two] = [createPermutation(key, 1_000_000), createPermutation(other, 1_000_000)];
      const same = Array.from({ length: 100 }, (_, id) => one.forward(id) === two.forward(id)).filter(
        Boolean,
      );
      expect(same.length).toBeLessThan(4);
    }
  });

  test('moves every digit when one digit of the id changes', () => {
    const pairs = new PairPermutation(key, 62 ** 3, 62 ** 4);
    const seen = { left: new Set<number>(), right: new Set<number>() };
    for (let id = 0; id < 200; id += 1) {
      pairs.forward(0, id);
      seen.left.add(pairs.left);
      seen.right.add(pairs.right);
      pairs.forward(id + 1, 0);
      seen.left.add(pairs.left);
      seen.right.add(pairs.right);
    }
    expect(seen.left.size).toBeGreaterThan(395);
    expect(seen.right.size).toBeGreaterThan(398);
  });
});
