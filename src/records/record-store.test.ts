import { expect, test } from 'bun:test';
import fc from 'fast-check';
import { sortable } from './record-store.ts';

test('numbers as text keep their order, also below zero', () => {
  const number = fc.integer({ min: -(10 ** 15) + 1, max: 8 * 10 ** 15 });
  fc.assert(
    fc.property(number, number, (one, other) => {
      expect(Math.sign(one - other)).toBe(
        sortable(one) === sortable(other) ? 0 : sortable(one) < sortable(other) ? -1 : 1,
      );
    }),
  );
});
