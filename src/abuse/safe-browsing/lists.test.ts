import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { SafeBrowsingFault } from './fault.ts';
import { firstFour, fourBytesOf, PrefixList } from './lists.ts';

const none = new Uint32Array();
const compare = (left: number, right: number): number => left - right;
const sortedSet = (numbers: Iterable<number>): Uint32Array =>
  Uint32Array.from([...new Set(numbers)].sort(compare));
/** Neighbours, both ends and the middle of the range, so that lists overlap. */
const number = fc.oneof(fc.nat({ max: 40 }), fc.integer({ min: 0x7fff_fff0, max: 0xffff_ffff }));
const prefixSet = fc.array(number, { maxLength: 40 }).map(sortedSet);

const checksumOf = (numbers: Uint32Array): string =>
  createHash('sha256')
    .update(Buffer.concat([...numbers].map(fourBytesOf)))
    .digest('hex');

describe('a prefix list', () => {
  test('after an update is what a sorted array would be, checksum and all', async () => {
    await fc.assert(
      fc.asyncProperty(prefixSet, prefixSet, fc.func(fc.boolean()), async (before, more, isRemoved) => {
        const removals = [...before.keys()].filter(index => isRemoved(before[index]!));
        const kept = [...before].filter((_, index) => !removals.includes(index));
        const additions = more.filter(each => !kept.includes(each));
        const list = await new PrefixList(before).updated(Uint32Array.from(removals), additions);
        const expected = sortedSet([...kept, ...additions]);
        expect((await list.checksum()).toString('hex')).toBe(checksumOf(expected));
        expect(list.size).toBe(expected.length);
        for (const each of [...before, ...more]) {
          const hash = Buffer.concat([fourBytesOf(each), Buffer.alloc(28, 0x55)]);
          expect(list.matches(hash)).toBe(expected.includes(each));
        }
      }),
    );
  });

  test.each([
    ['', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
    ['xxxxyyyyzzzz', '20ffb2c3e9532153b96b956845381adc06095f8342fa2db1aafba6b0e9594d68'],
  ])('of "%s" has the checksum that servers give it', async (text, expected) => {
    const prefixes = Uint32Array.from(text.match(/.{4}/g) ?? [], part => firstFour(Buffer.from(part)));
    expect((await new PrefixList(prefixes).checksum()).toString('hex')).toBe(expected);
  });

  test('is not changed by its update', async () => {
    const list = new PrefixList(Uint32Array.of(1, 2, 3));
    const after = await list.updated(Uint32Array.of(1), Uint32Array.of(9));
    expect([...after.numbers]).toEqual([1, 3, 9]);
    expect([...list.numbers]).toEqual([1, 2, 3]);
  });

  test.each([
    ['beyond its end', [3]],
    ['that comes twice', [1, 1]],
    ['out of order', [2, 1]],
  ])('refuses a removal %s', async (_fault, removals) => {
    const list = new PrefixList(Uint32Array.of(1, 2, 3));
    const updated = list.updated(Uint32Array.from(removals), none);
    await expect(updated).rejects.toBeInstanceOf(SafeBrowsingFault);
  });

  test('converts numbers to bytes and back', () => {
    fc.assert(
      fc.property(fc.nat({ max: 0xffff_ffff }), each => expect(firstFour(fourBytesOf(each))).toBe(each)),
    );
  });
});
