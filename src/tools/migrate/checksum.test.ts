import { describe, expect, test } from 'bun:test';
import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { Checksum, canonicalText } from './digest.ts';

const sumOf = (...texts: string[]): Checksum => {
  const checksum = new Checksum();
  for (const text of texts) checksum.add(createHash('sha256').update(text).digest());
  return checksum;
};

describe('a checksum', () => {
  test('is the same in whatever order records come', () => {
    fc.assert(
      fc.property(fc.array(fc.string()), texts => {
        expect(sumOf(...texts).equals(sumOf(...texts.toReversed()))).toBe(true);
      }),
    );
  });

  test('shows when a record is missing, different, or there twice', () => {
    const whole = sumOf('a', 'b', 'c');
    for (const other of [
      sumOf('a', 'b'),
      sumOf('a', 'b', 'd'),
      sumOf('a', 'b', 'c', 'c'),
      sumOf('a', 'a', 'b'),
    ]) {
      expect(whole.equals(other)).toBe(false);
      expect(whole.value).not.toBe(other.value);
    }
    expect(sumOf('a', 'a').value).not.toBe(sumOf().value);
  });
});

describe('the text of a record', () => {
  test('does not depend on the order of its fields, nor on what is undefined', () => {
    const one = { b: [1, { y: null, x: 'ü' }], a: undefined, c: false };
    const other = { c: false, b: [1, { x: 'ü', y: null }] };
    expect(canonicalText(one)).toBe('{"b":[1,{"x":"ü","y":null}],"c":false}');
    expect(canonicalText(other)).toBe(canonicalText(one));
  });

  test('differs for whatever differs', () => {
    fc.assert(
      fc.property(fc.json(), fc.json(), (one, other) => {
        const [first, second] = [canonicalText(JSON.parse(one)), canonicalText(JSON.parse(other))];
        expect(JSON.parse(first)).toEqual(JSON.parse(one));
        if (!Bun.deepEquals(JSON.parse(one), JSON.parse(other))) expect(first).not.toBe(second);
      }),
    );
  });
});
