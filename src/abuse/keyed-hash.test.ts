import { expect, test } from 'bun:test';
import { KeyedHash } from './keyed-hash.ts';

/** Of the bytes 0, 1, 2, … up to a length, with the key 0, 1, … 7; published with the function. */
const published: readonly (readonly [length: number, hash: string])[] = [
  [1, 'be552412f8387315'],
  [2, '064f39ef7c50eb57'],
  [3, 'ce0f1a45f7060679'],
  [4, 'd5e78a175be52ea1'],
  [5, 'cb9d7c3f2f3db580'],
  [7, 'ff202728b07bc684'],
  [8, 'edfee820bce4858c'],
  [15, '217d0bcb4e81c902'],
  [16, '7336aad25f7bf3b5'],
  [17, '37adc0641c4c4f6a'],
  [31, '863c7f155c34117c'],
];

function hex(hash: KeyedHash): string {
  const bytes = new DataView(new ArrayBuffer(8));
  bytes.setInt32(0, hash.low, true);
  bytes.setInt32(4, hash.high, true);
  return Buffer.from(bytes.buffer).toString('hex');
}

const counting = (length: number): string => String.fromCharCode(...Array.from({ length }, (_, at) => at));

test.each(published)('the hash of %i bytes is the published one', (length, expected) => {
  const hash = new KeyedHash(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7));
  hash.hash(0, counting(length).slice(1));
  expect(hex(hash)).toBe(expected);
});

test('the end of a text hashes like the same text alone', () => {
  const hash = new KeyedHash(new Uint8Array(8).fill(9));
  hash.hash(68, 'a.b.evil.example', 4);
  const part = hex(hash);
  hash.hash(68, 'evil.example');
  expect(part).toBe(hex(hash));
});

test('key and tag each make another hash', () => {
  const hashes = [1, 2].flatMap(key =>
    [68, 85].map(tag => {
      const hash = new KeyedHash(new Uint8Array(8).fill(key));
      hash.hash(tag, 'evil.example');
      return hex(hash);
    }),
  );
  expect(new Set(hashes).size).toBe(4);
});

test('a key of another length is refused', () => {
  expect(() => new KeyedHash(new Uint8Array(16))).toThrow('8 bytes');
});
