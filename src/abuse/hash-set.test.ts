import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { HashSet, KeyedHash } from './hash-set.ts';

const key = Uint8Array.of(1, 2, 3, 4, 5, 6, 7, 8);
const names = fc.array(fc.stringMatching(/^[a-z0-9.-]{0,24}$/), { maxLength: 300 });

describe('a set of hashes', () => {
  test('has what was added and nothing else, however often it grew', () => {
    fc.assert(
      fc.property(names, names, (added, others) => {
        const set = new HashSet(key);
        const model = new Set<string>();
        for (const name of added) {
          expect(set.add(1, name)).toBe(!model.has(name));
          model.add(name);
        }
        expect(set.size).toBe(model.size);
        for (const name of [...added, ...others]) expect(set.has(1, name)).toBe(model.has(name));
      }),
    );
  });

  test('gives the same answers after it was sent to another thread', () => {
    fc.assert(
      fc.property(names, names, (added, others) => {
        const set = new HashSet(key);
        for (const name of added) set.add(1, name);
        const before = [...added, ...others].map(name => set.has(1, name));
        const arrived = new HashSet(key, structuredClone(set.release()));
        expect([...added, ...others].map(name => arrived.has(1, name))).toEqual(before);
      }),
    );
  });

  test('keeps a text under one tag apart from the same text under another', () => {
    const set = new HashSet(key);
    set.add(1, 'evil.example');
    expect(set.has(2, 'evil.example')).toBe(false);
  });

  test('finds the end of a longer text without cutting it', () => {
    const set = new HashSet(key);
    set.add(1, 'evil.example');
    expect(set.has(1, 'www.evil.example', 4)).toBe(true);
    expect(set.has(1, 'www.evil.example')).toBe(false);
  });

  test('takes less than eleven bytes for each of many names', () => {
    const set = new HashSet(key);
    for (let index = 0; index < 10_000; index += 1) set.add(1, `name${index}`);
    set.release();
    expect(set.bytes / set.size).toBeLessThan(11);
    expect(set.has(1, 'name9999')).toBe(true);
  });
});

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

test('key and tag each change the hash', () => {
  const hashes = [1, 2].flatMap(key =>
    [68, 85].map(tag => {
      const hash = new KeyedHash(new Uint8Array(8).fill(key));
      hash.hash(tag, 'evil.example');
      return hex(hash);
    }),
  );
  expect(new Set(hashes).size).toBe(4);
});

test('a key of another length is rejected', () => {
  expect(() => new KeyedHash(new Uint8Array(16))).toThrow('8 bytes');
});
