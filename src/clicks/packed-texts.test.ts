import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { packTexts, unpackTexts } from './packed-texts.ts';

describe('packed texts', () => {
  test('unpack to the same texts, unless they cannot be packed', () => {
    const text = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.constant('x'.repeat(255)));
    fc.assert(
      fc.property(fc.array(text), texts => {
        const packed = packTexts(texts);
        const isAscii = texts.every(each => [...each].every(character => character.codePointAt(0)! < 0x80));
        expect(packed !== undefined).toBe(isAscii && texts.every(({ length }) => length <= 255));
        if (packed !== undefined) expect(unpackTexts(packed)).toEqual(texts);
      }),
    );
  });

  test('have a length that fits into a byte', () => {
    expect(packTexts(['x'.repeat(256)])).toBeUndefined();
  });

  test.each([[[]], [[1]], [[1, 1]], [[2, 2]]])('are not read with the lengths %j of three bytes', lengths => {
    const bytes = Buffer.from('abc');
    expect(() => unpackTexts({ lengths: Uint8Array.from(lengths), bytes })).toThrow(RangeError);
  });
});
