import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../../base/random.ts';
import { packRegisters, unpackRegisters } from './dense.ts';
import { rankMax, registerCount } from './token.ts';

function pack(registers: Uint8Array): Uint8Array {
  const histogram = new Int32Array(rankMax + 1);
  for (const rank of registers) histogram[rank]! += 1;
  return packRegisters(registers, histogram);
}

/**
 * Registers of which a share is empty and the others are from `lowest` up, rarely as far as the highest rank.
 */
function registersWith(options: { emptyShare: number; lowest: number; seed: number }): Uint8Array {
  const random = seededRandom(options.seed);
  return Uint8Array.from({ length: registerCount }, () => {
    if (random.float() < options.emptyShare) return 0;
    return options.lowest + Math.floor(random.float() ** 6 * (rankMax + 1 - options.lowest));
  });
}

const whole = pack(registersWith({ emptyShare: 0, lowest: 3, seed: 1 }));
/** An odd number of registers, so that the last half byte is left over, and none of them an outlier. */
const mapped = pack(new Uint8Array(registerCount).fill(2, 100, 201).fill(1, 150, 151));
const mapBytes = registerCount / 8;

function changed(bytes: Uint8Array, place: number, value: number): Uint8Array {
  const copy = bytes.slice();
  copy[place] = value;
  return copy;
}

describe('registers', () => {
  test('come back from their bytes, however full and far apart they are', () => {
    fc.assert(
      fc.property(
        fc.record({
          emptyShare: fc.constantFrom(0, 0.01, 0.24, 0.25, 0.26, 0.5, 0.95, 0.9995),
          lowest: fc.constantFrom(1, 2, 5, 36, 37, 45, rankMax),
          seed: fc.nat(),
        }),
        options => {
          const registers = registersWith(options);
          fc.pre(registers.some(rank => rank > 0));
          expect(unpackRegisters(pack(registers))).toEqual(registers);
        },
      ),
    );
  });

  test.each([0, 1, 4_095, 4_096, 4_097, 4_098, 16_382, 16_383])(
    'come back when %d of them are empty',
    empty => {
      const registers = new Uint8Array(registerCount).fill(20, empty);
      registers[registerCount - 1] = 1;
      expect(unpackRegisters(pack(registers))).toEqual(registers);
      expect(unpackRegisters(pack(registers.toReversed()))).toEqual(registers.toReversed());
    },
  );

  test('take the shorter layout on both sides of a quarter of them empty', () => {
    const lengthWith = (empty: number) => pack(new Uint8Array(registerCount).fill(1, empty)).length;
    expect(lengthWith(0)).toBe(2 + 8_192);
    expect(lengthWith(4_096)).toBe(2 + 8_192);
    expect(lengthWith(4_098)).toBe(2 + 8_191);
    expect(lengthWith(8_192)).toBe(2 + 2_048 + 4_096);
  });

  test.each<[string, Uint8Array]>([
    ['they end too early', new Uint8Array(0)],
    ['they end too early', whole.subarray(0, 1)],
    ['they end too early', whole.subarray(0, 8_000)],
    ['they end too early', whole.subarray(0, -1)],
    ['they end too early', mapped.subarray(0, 10)],
    ['they end too early', mapped.subarray(0, 1_000)],
    ['they end too early', mapped.subarray(0, -1)],
    ['they go on after the end', Uint8Array.of(...whole, 40)],
    ['they go on after the end', Uint8Array.of(...mapped, 40)],
    ['their layout is unknown', changed(whole, 0, 2)],
    ['a rank is out of range', changed(whole, 1, rankMax + 1)],
    ['a rank is out of range', changed(whole, whole.length - 1, rankMax + 1)],
    ['a rank is out of range', changed(whole, whole.length - 1, 17)],
    ['a rank is out of range', changed(pack(new Uint8Array(registerCount).fill(rankMax)), 2, 0x10)],
    ['no register is at the floor', pack(new Uint8Array(registerCount).fill(7)).fill(0x11, 2)],
    [
      'no register is at the floor',
      mapped
        .slice()
        .fill(0x11, 2 + mapBytes, -1)
        .fill(0x01, -1),
    ],
    ['the last half byte is not zero', changed(mapped, mapped.length - 1, mapped.at(-1)! | 0x10)],
    ['their map has no use', changed(mapped, 1, 0)],
    ['their map has no use', mapped.slice().fill(0, 2, 2 + mapBytes)],
    ['their map has no use', mapped.slice().fill(0xff, 2, 2 + mapBytes)],
  ])('are refused where %s', (reason, bytes) => {
    expect(() => unpackRegisters(bytes)).toThrow(reason);
  });
});
