import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { gapsBetween, isLeased, nextRange } from './leased-spans.ts';
import type { LeasedSpan } from './store.ts';

/** Shares in a space so small that they are divided and used up within a few leases. */
const size = 500;
const cutOf = (number: number, count: number) => ({
  first: Math.floor((size * (number - 1)) / count),
  limit: Math.floor((size * number) / count),
});

/** Leases as a store does: the span that starts where the share does grows. */
function lease(spans: Map<number, number>, first: number, limit: number, ids: number): number[] {
  const { from, to } = nextRange(spansOf(spans), { first, limit, size: ids });
  spans.set(first, to);
  return Array.from({ length: to - from }, (_, n) => from + n);
}

const spansOf = (spans: Map<number, number>): LeasedSpan[] =>
  [...spans].map(([first, mark]) => ({ first, mark }));

describe('leases', () => {
  test('never give an id twice, however often the number of regions changes', () => {
    const leases = fc.array(
      fc.record({
        count: fc.integer({ min: 1, max: 7 }),
        number: fc.integer({ min: 1, max: 7 }),
        ids: fc.integer({ min: 1, max: 60 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(leases, requests => {
        const spans = new Map<number, number>();
        const given = new Set<number>();
        for (const { count, number, ids } of requests.filter(each => each.number <= each.count)) {
          const { first, limit } = cutOf(number, count);
          for (const id of lease(spans, first, limit, ids)) {
            expect(given.has(id)).toBe(false);
            expect(id).toBeLessThan(size);
            given.add(id);
          }
        }
        for (const id of given) expect(isLeased(spansOf(spans), id)).toBe(true);
      }),
    );
  });

  test('use up a share and then return no ids', () => {
    const spans = new Map<number, number>();
    expect(lease(spans, 100, 150, 40)).toHaveLength(40);
    expect(lease(spans, 100, 150, 40)).toEqual([140, 141, 142, 143, 144, 145, 146, 147, 148, 149]);
    expect(lease(spans, 100, 150, 40)).toEqual([]);
    expect(lease(spans, 0, 100, 10)[0]).toBe(0);
  });
});

test('an id is in a span or in a gap, never in both', () => {
  const spans = fc.array(fc.tuple(fc.nat(size), fc.nat(size)), { maxLength: 6 });
  fc.assert(
    fc.property(spans, fc.nat(2 * size), (pairs, id) => {
      const given = pairs.map(([one, other]) => ({
        first: Math.min(one, other),
        mark: Math.max(one, other),
      }));
      const isInGap = gapsBetween(given).some(({ from, to }) => id >= from && id < to);
      expect(isInGap).toBe(!isLeased(given, id));
    }),
  );
});
