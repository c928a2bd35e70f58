import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { SafeBrowsingFault } from './fault.ts';
import { firstFour, fourBytesOf, noPrefixes, type Prefixes, PrefixList } from './prefix-list.ts';

/** Few different bytes, so that prefixes meet and begin one another. */
const prefix = fc
  .array(fc.constantFrom(0, 1, 0x80, 0xff), { minLength: 4, maxLength: 6 })
  .map(bytes => Buffer.from(bytes));
const prefixSet = fc.uniqueArray(prefix, { selector: bytes => bytes.toString('hex'), maxLength: 40 });

function prefixesOf(all: readonly Buffer[]): Prefixes {
  const sorted = all.toSorted(Buffer.compare);
  return {
    fourByte: Uint32Array.from(sorted.filter(bytes => bytes.length === 4).map(firstFour)),
    longer: sorted.filter(bytes => bytes.length > 4),
  };
}

const checksumOf = (all: readonly Buffer[]): string =>
  createHash('sha256')
    .update(Buffer.concat(all.toSorted(Buffer.compare)))
    .digest('hex');

describe('a prefix list', () => {
  test('after an update is what a sorted array would be, checksum and all', async () => {
    await fc.assert(
      fc.asyncProperty(prefixSet, prefixSet, fc.func(fc.boolean()), async (before, more, isRemoved) => {
        const sorted = before.toSorted(Buffer.compare);
        const removals = sorted.flatMap((bytes, index) => (isRemoved(bytes.toString('hex')) ? [index] : []));
        const kept = sorted.filter((_, index) => !removals.includes(index));
        const additions = more.filter(bytes => !kept.some(each => each.equals(bytes)));
        const list = await new PrefixList(prefixesOf(before)).updated(
          Uint32Array.from(removals),
          prefixesOf(additions),
        );
        const expected = [...kept, ...additions];
        expect((await list.checksum()).toString('hex')).toBe(checksumOf(expected));
        expect(list.size).toBe(expected.length);
        for (const bytes of [...before, ...more]) {
          const hash = Buffer.concat([bytes, Buffer.alloc(32 - bytes.length, 0x55)]);
          expect(list.matches(hash)).toBe(expected.some(each => each.equals(hash.subarray(0, each.length))));
        }
      }),
    );
  });

  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['xxxxyyyyzzzz', '20ffb2c3e9532153b96b956845381adc06095f8342fa2db1aafba6b0e9594d68'],
  ])('of "%s" has the checksum that servers give it', async (text, expected) => {
    const all = text.match(/.{4}/g)?.map(part => Buffer.from(part)) ?? [];
    expect((await new PrefixList(prefixesOf(all)).checksum()).toString('hex')).toBe(expected);
  });

  test('is not changed by its update', async () => {
    const list = new PrefixList({ fourByte: Uint32Array.of(1, 2, 3), longer: [] });
    const after = await list.updated(Uint32Array.of(1), { fourByte: Uint32Array.of(9), longer: [] });
    expect([...after.fourByte]).toEqual([1, 3, 9]);
    expect([...list.fourByte]).toEqual([1, 2, 3]);
  });

  test.each([
    ['beyond its end', [3]],
    ['that comes twice', [1, 1]],
    ['out of order', [2, 1]],
  ])('refuses a removal %s', async (_fault, removals) => {
    const list = new PrefixList({ fourByte: Uint32Array.of(1, 2, 3), longer: [] });
    await expect(list.updated(Uint32Array.from(removals), noPrefixes)).rejects.toBeInstanceOf(
      SafeBrowsingFault,
    );
  });

  test('has numbers that are the bytes and back', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffff_ffff }), number =>
        expect(firstFour(fourBytesOf(number))).toBe(number),
      ),
    );
  });
});
