import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import {
  deepHashes,
  eachHash,
  hashes,
  sketchOf,
  sketchOfMany,
  type VisitorHash,
} from '../fake-visitor-hashes.ts';
import { unpackRegisters } from './dense.ts';
import { Sketch } from './sketch.ts';
import { BrokenSketch } from './token.ts';

/** One in nine of these visitors is of the rare kind. */
const population = [...hashes(3_200, 1), ...deepHashes(400, 2)].sort((one, other) => one.low - other.low);

/** From none to all of the population, mostly few, so that both forms and the change between them occur. */
const visitors = fc
  .record({
    start: fc.nat(population.length - 1),
    count: fc.oneof(fc.nat(12), fc.integer({ min: 900, max: 1_150 }), fc.nat(population.length)),
  })
  .map(({ start, count }) => [...population, ...population].slice(start, start + count));

function merged(...sketches: readonly Sketch[]): Sketch {
  const all = new Sketch();
  for (const sketch of sketches) all.merge(sketch);
  return all;
}

function shuffled(list: readonly VisitorHash[], seed: number): VisitorHash[] {
  const random = seededRandom(seed);
  return list
    .map(hash => ({ hash, order: random.float() }))
    .sort((one, other) => one.order - other.order)
    .map(({ hash }) => hash);
}

describe('a sketch', () => {
  test('is empty until the first visitor comes', () => {
    const sketch = new Sketch();
    expect(sketch.isEmpty).toBe(true);
    expect(sketch.estimate()).toBe(0);
    sketch.add(0, 0);
    expect(sketch.isEmpty).toBe(false);
    expect(sketch.estimate()).toBe(1);
    expect(sketchOfMany(5_000, 1).isEmpty).toBe(false);
  });

  test('takes a hash as hex digits or as two halves, signed or not', () => {
    const byHex = new Sketch();
    byHex.addHex('fedcba9876543210');
    byHex.addHex('00000000DEADBEEF');
    const byHalves = sketchOf([
      { high: 0xfedcba98, low: 0x76543210 },
      { high: 0, low: 0xdeadbeef },
    ]);
    const bySigned = sketchOf([
      { high: 0xfedcba98 | 0, low: 0x76543210 },
      { high: 0, low: 0xdeadbeef | 0 },
    ]);
    expect(byHex.toBytes()).toEqual(byHalves.toBytes());
    expect(bySigned.toBytes()).toEqual(byHalves.toBytes());
    expect(byHex.estimate()).toBe(2);
  });

  test.each(['', 'fedcba987654321', 'fedcba98765432100', 'fedcba987654321g', '0xdcba9876543210'])(
    'refuses "%s" as a hash',
    hash => expect(() => new Sketch().addHex(hash)).toThrow('16 hex digits'),
  );

  test('depends on who came, not on their order or how often', () => {
    fc.assert(
      fc.property(visitors, fc.nat(), (list, seed) => {
        const again = list.slice(0, list.length / 2);
        expect(sketchOf(shuffled([...list, ...again], seed)).toBytes()).toEqual(sketchOf(list).toBytes());
      }),
    );
  });

  test.each([1_024, 1_025])(
    'of %d visitors, where its form changes, does so in any order and grouping',
    count => {
      const list = hashes(count, 4);
      const bytes = sketchOf(list).toBytes();
      for (let seed = 1; seed <= 20; seed += 1) {
        const mixed = shuffled(list, seed);
        expect(sketchOf(mixed).toBytes()).toEqual(bytes);
        const [some, others] = [sketchOf(mixed.slice(0, 40 * seed)), sketchOf(mixed.slice(30 * seed))];
        expect(merged(some, others).toBytes()).toEqual(bytes);
      }
    },
  );

  test('has the registers of the textbook definition, in whatever order visitors came', () => {
    fc.assert(
      fc.property(visitors, visitors, (few, many) => {
        const atLeastDense = [...many, ...population.slice(0, 1_500)];
        const expected = textbookRegisters([...few, ...atLeastDense]);
        expect(registersIn(sketchOf([...few, ...atLeastDense]))).toEqual(expected);
        expect(registersIn(merged(sketchOf(few), sketchOf(atLeastDense)))).toEqual(expected);
        expect(registersIn(merged(sketchOf(atLeastDense), sketchOf(few)))).toEqual(expected);
      }),
      { numRuns: 40 },
    );
  });
});

describe('merging', () => {
  test('equals one sketch of all visitors', () => {
    fc.assert(
      fc.property(visitors, visitors, (one, other) => {
        const all = sketchOf([...one, ...other]);
        const both = merged(sketchOf(one), sketchOf(other));
        expect(both.toBytes()).toEqual(all.toBytes());
        expect(both.estimate()).toBe(all.estimate());
      }),
    );
  });

  test('is commutative and associative', () => {
    fc.assert(
      fc.property(visitors, visitors, visitors, (first, second, third) => {
        const [one, two, three] = [sketchOf(first), sketchOf(second), sketchOf(third)] as const;
        expect(merged(two, one).toBytes()).toEqual(merged(one, two).toBytes());
        const leftFirst = merged(merged(one, two), three).toBytes();
        expect(merged(one, merged(two, three)).toBytes()).toEqual(leftFirst);
      }),
    );
  });

  test('is idempotent, also with itself', () => {
    fc.assert(
      fc.property(visitors, list => {
        const sketch = sketchOf(list);
        const bytes = sketch.toBytes();
        sketch.merge(sketchOf(list));
        sketch.merge(sketch);
        expect(sketch.toBytes()).toEqual(bytes);
      }),
    );
  });

  test('never changes the other sketch', () => {
    fc.assert(
      fc.property(visitors, visitors, (one, other) => {
        const theirs = sketchOf(other);
        const bytes = theirs.toBytes();
        const ours = merged(theirs);
        ours.merge(sketchOf(one));
        for (const { high, low } of deepHashes(50, 3)) ours.add(high, low);
        expect(theirs.toBytes()).toEqual(bytes);
      }),
    );
  });

  test.each([4, 40, 2_000, 100_000])(
    'thirty days of %d visitors agree exactly with one sketch of all',
    perDay => {
      const [everybody, days] = [new Sketch(), new Sketch()];
      for (let day = 0; day < 30; day += 1) {
        const today = new Sketch();
        // Half of a day's visitors are new, the other half were here the day before.
        for (const half of [day, day + 1]) {
          eachHash(perDay / 2, half, (high, low) => {
            today.add(high, low);
            everybody.add(high, low);
          });
        }
        days.merge(Sketch.from(today.toBytes()));
      }
      expect(days.toBytes()).toEqual(everybody.toBytes());
      expect(days.estimate()).toBe(everybody.estimate());
    },
  );
});

describe("a sketch's bytes", () => {
  test('restore it, and it continues as if it had never been serialised', () => {
    fc.assert(
      fc.property(visitors, visitors, (before, after) => {
        const stayed = sketchOf(before);
        const back = Sketch.from(stayed.toBytes());
        expect(back.toBytes()).toEqual(stayed.toBytes());
        expect(back.estimate()).toBe(stayed.estimate());
        expect(back.isEmpty).toBe(stayed.isEmpty);
        for (const { high, low } of after) {
          stayed.add(high, low);
          back.add(high, low);
        }
        expect(back.toBytes()).toEqual(stayed.toBytes());
      }),
    );
  });

  test('may be anywhere in a larger buffer, which may be reused', () => {
    for (const count of [3, 5_000, 100_000]) {
      const bytes = sketchOfMany(count, 1).toBytes();
      const buffer = new Uint8Array(bytes.length + 10).fill(0xff);
      buffer.set(bytes, 3);
      const sketch = Sketch.from(buffer.subarray(3, 3 + bytes.length));
      buffer.fill(0);
      expect(sketch.toBytes()).toEqual(bytes);
    }
  });

  test.each([
    [0, 3],
    [1, 7],
    [3, 13],
    [10, 34],
    [100, 260],
    [1_000, 2_150],
    [1_025, 2_600],
    [10_000, 5_900],
    [100_000, 8_250],
    [1_000_000, 8_250],
  ])('of %d visitors are at most %d', (count, bytesMax) => {
    for (const seed of [1, 2, 3]) {
      expect(sketchOfMany(count, seed).toBytes().length).toBeLessThanOrEqual(bytesMax);
    }
  });

  // Sparse, dense with a map, and dense without one.
  describe.each([0, 1, 3, 200, 1_025, 9_000, 60_000])('of %d visitors', count => {
    const bytes = sketchOfMany(count, 7).toBytes();
    // Every place of a short one, and of a long one its ends and every 41st place.
    const places = [...bytes.keys()].filter(
      place => place < 300 || place > bytes.length - 60 || place % 41 === 0,
    );

    test('are refused when cut off anywhere', () => {
      for (const place of places) {
        expect(() => Sketch.from(bytes.subarray(0, place))).toThrow(BrokenSketch);
      }
    });

    test('are refused when something follows', () => {
      for (let byte = 0; byte < 256; byte += 1) {
        expect(() => Sketch.from(Uint8Array.of(...bytes, byte))).toThrow(BrokenSketch);
      }
    });

    test('are refused when any one byte has changed', () => {
      for (const place of places) {
        for (const change of [0x01, 0x10, 0x80, 0xff]) {
          const changed = bytes.slice();
          changed[place]! ^= change;
          expect(() => Sketch.from(changed)).toThrow(BrokenSketch);
        }
      }
    });

    test('are refused when two neighbours have changed places', () => {
      for (const place of places.slice(0, -1)) {
        const [one, other] = [bytes[place]!, bytes[place + 1]!];
        // Twice 128 is nothing to a sum of bytes: this is the one difference that it cannot see.
        if (one === other || Math.abs(one - other) === 128) continue;
        const changed = bytes.slice();
        changed.set([other, one], place);
        expect(() => Sketch.from(changed)).toThrow(BrokenSketch);
      }
    });
  });

  test('are refused when they are anything else', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), garbage => {
        // An unknown first byte alone is enough to reject it.
        expect(() => Sketch.from(Uint8Array.of(0x00, ...garbage))).toThrow(BrokenSketch);
      }),
    );
    expect(() => Sketch.from(new TextEncoder().encode('{"visitors":3}'))).toThrow(
      'these bytes are not a visitor sketch',
    );
  });

  test('of another version are refused by name', () => {
    // The check byte is right: 0x21 at the first place has the weight one.
    expect(() => Sketch.from(Uint8Array.of(0x21, 0x21))).toThrow('form or version is unknown');
  });
});

/** The registers by definition, from the hash as one 64-bit number. */
function textbookRegisters(list: readonly VisitorHash[]): Uint8Array {
  const registers = new Uint8Array(16_384);
  for (const { high, low } of list) {
    const bits = ((BigInt(high) << 32n) | BigInt(low)).toString(2).padStart(64, '0');
    const register = Number.parseInt(bits.slice(0, 14), 2);
    const firstOne = bits.indexOf('1', 14);
    const rank = firstOne === -1 ? 51 : firstOne - 14 + 1;
    registers[register] = Math.max(registers[register]!, rank);
  }
  return registers;
}

function registersIn(dense: Sketch): Uint8Array {
  return unpackRegisters(dense.toBytes().subarray(1, -1));
}
