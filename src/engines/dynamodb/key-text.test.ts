import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { partitionOf, sortableText } from './key-text.ts';

test('numbers as text keep their order, also below zero', () => {
  const number = fc.integer({ min: -(10 ** 15) + 1, max: 8 * 10 ** 15 });
  fc.assert(
    fc.property(number, number, (one, other) => {
      expect(Math.sign(one - other)).toBe(
        sortableText(one) === sortableText(other) ? 0 : sortableText(one) < sortableText(other) ? -1 : 1,
      );
    }),
  );
});

test('an id of any length makes a key that fits, and no two make the same', () => {
  const ids = ['', 'a', '#', 'x'.repeat(512), 'x'.repeat(513), 'x'.repeat(20_000), '😀'.repeat(200)];
  const keys = ids.map(id => partitionOf('kind', id));
  for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThan(1_024);
  expect(new Set(keys).size).toBe(ids.length);
});
