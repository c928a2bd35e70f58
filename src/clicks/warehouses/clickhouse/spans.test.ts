import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { grainMs } from '../../warehouse.ts';
import { spansOf } from './spans.ts';

const day = Date.UTC(2026, 5, 2);
const at = (hours: number, minutes = 0): number => day + hours * 60 * 60_000 + minutes * 60_000;

describe('the spans of a range', () => {
  test('are whole days where there are any, and finer at the ends', () => {
    expect(spansOf(at(-1, -7), at(25))).toEqual([
      { grain: 'day', from: day, to: at(24) },
      { grain: 'quarter', from: at(-1), to: day },
      { grain: 'minute', from: at(-1, -7), to: at(-1) },
      { grain: 'quarter', from: at(24), to: at(25) },
    ]);
  });

  test('of a few minutes are minutes', () => {
    expect(spansOf(at(1, 1), at(1, 5))).toEqual([{ grain: 'minute', from: at(1, 1), to: at(1, 5) }]);
  });

  test('cover every minute of the range once, and nothing else', () => {
    const minute = fc.integer({ min: 0, max: 4 * 24 * 60 });
    fc.assert(
      fc.property(minute, minute, (one, other) => {
        const [from, to] = [day + Math.min(one, other) * 60_000, day + Math.max(one, other) * 60_000];
        const covered = spansOf(from, to).flatMap(({ grain, from: first, to: last }) => {
          expect(first % grainMs[grain]).toBe(0);
          expect(last % grainMs[grain]).toBe(0);
          return Array.from({ length: (last - first) / 60_000 }, (_, n) => first + n * 60_000);
        });
        const expected = Array.from({ length: (to - from) / 60_000 }, (_, n) => from + n * 60_000);
        expect(covered.sort((a, b) => a - b)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });
});
