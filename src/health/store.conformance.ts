/** The contract of a store of results; each driver runs it against the real engine. */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { HealthRecord, HealthStore } from './health.ts';

export interface HealthStoreHarness {
  readonly store: HealthStore;
  /** Another handle on the same data, as another process would have. */
  readonly reopen: () => Promise<HealthStore>;
  readonly dispose: () => Promise<void>;
}

const start = Date.UTC(2026, 5, 1);
const keepMs = 60_000;
const turnMs = 3_000;

const record = (code: string, more: Partial<HealthRecord> = {}): HealthRecord => ({
  code,
  destination: 'a destination',
  checkedAt: start,
  failingSince: null,
  httpStatus: 200,
  reason: null,
  ...more,
});

export function healthStoreConformance(name: string, open: () => Promise<HealthStoreHarness>): void {
  describe(`a store of results in ${name}`, () => {
    let harness: HealthStoreHarness;
    let store: HealthStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    test('finds saved results, in the order of the codes asked for, from every handle', async () => {
      const failing = record('broken-1', {
        httpStatus: null,
        reason: 'too_slow',
        failingSince: start - 5,
        checkedAt: start + 1,
      });
      await store.save([record('one'), failing], start, keepMs);
      const other = await harness.reopen();
      expect(await other.find(['broken-1', 'unknown', 'one'])).toEqual([failing, undefined, record('one')]);
      expect(await store.find([])).toEqual([]);
    });

    test('distinguishes codes by case, and accepts any character that a code can have', async () => {
      await store.save([record('Abc'), record('abc', { httpStatus: 404 }), record('a-b_c')], start, keepMs);
      const found = await store.find(['abc', 'Abc', 'ABC', 'a-b_c']);
      expect(found.map(each => each?.httpStatus)).toEqual([404, 200, undefined, 200]);
    });

    test('is asked for the codes of many long pages at the same time', async () => {
      await store.save([record('one')], start, keepMs);
      const found = await Promise.all(
        Array.from({ length: 4 }, (_, page) =>
          store.find([...Array.from({ length: 999 }, (_, n) => `unknown-${page}-${n}`), 'one']),
        ),
      );
      for (const page of found) {
        expect(page).toHaveLength(1_000);
        expect(page.filter(each => each !== undefined)).toEqual([record('one')]);
      }
    });

    test('keeps the latest result', async () => {
      await store.save([record('one')], start, keepMs);
      await store.save([record('one', { httpStatus: 500, failingSince: start + 9 })], start + 9, keepMs);
      expect(await store.find(['one'])).toEqual([
        record('one', { httpStatus: 500, failingSince: start + 9 }),
      ]);
    });

    test('lets one runner walk at a time, and the next continue from there when its turn is over', async () => {
      const other = await harness.reopen();
      expect(await store.takeTurn('first', start, turnMs)).toEqual({ roundAt: 0, cursor: null });
      expect(await other.takeTurn('second', start + 1, turnMs)).toBeUndefined();
      expect(await store.noteTurn('first', { roundAt: start, cursor: 'page "2"' })).toBe(true);
      expect(await store.takeTurn('first', start + 2, turnMs)).toEqual({
        roundAt: start,
        cursor: 'page "2"',
      });
      expect(await other.takeTurn('second', start + turnMs + 3, turnMs)).toEqual({
        roundAt: start,
        cursor: 'page "2"',
      });
      expect(await store.noteTurn('first', { roundAt: start, cursor: 'late' })).toBe(false);
      expect(await other.noteTurn('second', { roundAt: start, cursor: null })).toBe(true);
      expect(await other.takeTurn('second', start + turnMs + 4, turnMs)).toEqual({
        roundAt: start,
        cursor: null,
      });
    });

    test('of many concurrent runners one gets the turn', async () => {
      const handles = await Promise.all(Array.from({ length: 8 }, () => harness.reopen()));
      const turns = await Promise.all(
        handles.map((handle, index) => handle.takeTurn(`runner ${index}`, start, turnMs)),
      );
      expect(turns.filter(turn => turn !== undefined)).toHaveLength(1);
    });
  });
}
