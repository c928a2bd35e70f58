import { describe, expect, test } from 'bun:test';
import type { Random } from '../../base/random.ts';
import { afterFailure, backOffDelayMs, isBackingOff, noBackOff } from './fault.ts';

const minuteMs = 60_000;
const chance = (float: number): Random => ({ bytes: length => new Uint8Array(length), float: () => float });

describe('after failures in a row', () => {
  test.each([
    [1, 15, 30],
    [2, 30, 60],
    [3, 60, 120],
    [4, 120, 240],
    [7, 960, 1_440],
    [8, 1_440, 1_440],
    [1_000_000, 1_440, 1_440],
  ])('%d of them, the server is left alone for %d to %d minutes', (failures, least, most) => {
    expect(backOffDelayMs(failures, chance(0)) / minuteMs).toBe(least);
    expect(backOffDelayMs(failures, chance(1)) / minuteMs).toBe(most);
  });

  test('each one adds to the count, and the time runs from it', () => {
    const first = afterFailure(noBackOff, 1_000, chance(0));
    expect(first).toEqual({ failures: 1, until: 1_000 + 15 * minuteMs });
    expect(afterFailure(first, 5_000, chance(0.5))).toEqual({ failures: 2, until: 5_000 + 45 * minuteMs });
  });

  test('the backoff ends exactly, and one that is too far ahead is ignored', () => {
    const state = { failures: 1, until: 100 * minuteMs };
    expect(isBackingOff(state, state.until - 1)).toBe(true);
    expect(isBackingOff(state, state.until)).toBe(false);
    expect(isBackingOff(state, state.until - 24 * 60 * minuteMs - 1)).toBe(false);
    expect(isBackingOff(noBackOff, 0)).toBe(false);
  });
});
