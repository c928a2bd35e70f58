import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { PairPermutation, SipHash } from './permutation.ts';

const key = Uint8Array.from({ length: 16 }, (_, index) => index * 7);

interface Permutation {
  readonly size: number;
  forward(id: number): number;
  backward(point: number): number;
}

/**
 * Permutes [0, size) for any size from 1 to 2^53. The nearest pair of digits that covers it may reach a
 * little further, so a result outside is permuted again until it falls inside (cycle walking). The walk
 * follows a cycle of the larger permutation, which leads back to where it began, inside: it always ends.
 * At most sqrt(size) + 1 points lie outside, so a second step is rare.
 */
function createPermutation(key: Uint8Array, size: number): Permutation {
  if (!Number.isInteger(size) || size < 1 || size > 2 ** 53) {
    throw new RangeError(`a permutation has from 1 to 2^53 points, not ${size}`);
  }
  const leftRadix = Math.floor(Math.sqrt(size));
  const rightRadix = Math.ceil(size / leftRadix);
  const pairs = new PairPermutation(key, leftRadix, rightRadix);
  return {
    size,
    forward(id) {
      let point = id;
      do {
        pairs.forward(Math.floor(point / rightRadix), point % rightRadix);
        point = pairs.left * rightRadix + pairs.right;
      } while (point >= size);
      return point;
    },
    backward(point) {
      let id = point;
      do {
        pairs.backward(Math.floor(id / rightRadix), id % rightRadix);
        id = pairs.left * rightRadix + pairs.right;
      } while (id >= size);
      return id;
    },
  };
}

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

  test('covers the largest possible size', () => {
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

/** The reference vectors: key 00 01 … 0f, messages of 0 to 7 bytes 00 01 …, hashes as little-endian bytes. */
const vectors = [
  '310e0edd47db6f72',
  'fd67dc93c539f874',
  '5a4fa9d909806c0d',
  '2d7efbd796666785',
  'b7877127e09427cf',
  '8da699cd64557618',
  'cee3fe586e46c9cb',
  '37d1018bf50002ab',
];

describe('SipHash', () => {
  test.each(vectors.map((hash, length) => [length, hash] as const))(
    'agrees with the reference for a message of %d bytes',
    (length, expected) => {
      const sipHash = new SipHash(Uint8Array.from({ length: 16 }, (_, index) => index));
      const block = new DataView(new ArrayBuffer(8));
      for (let index = 0; index < length; index += 1) block.setUint8(index, index);
      block.setUint8(7, length);
      sipHash.hash(block.getInt32(4, true), block.getInt32(0, true));

      const hash = new DataView(new ArrayBuffer(8));
      hash.setInt32(0, sipHash.low, true);
      hash.setInt32(4, sipHash.high, true);
      expect(Buffer.from(hash.buffer).toString('hex')).toBe(expected);
    },
  );

  test('insists on a key of 16 bytes', () => {
    expect(() => new SipHash(new Uint8Array(15))).toThrow(RangeError);
  });
});
