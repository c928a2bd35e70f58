/**
 * The contract between several handles on one store that write at the same time, as processes do. Part of the suite in
 * store.conformance.ts; a store that lives in its handle guarantees nothing here.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { yieldToEventLoop } from '../base/clock.ts';
import type { InsertItem, LinkStore } from './store.ts';
import { insertItem as item, type StoreHarness, sampleLink, samplesStart as start } from './store-samples.ts';

export function severalHandlesConformance(current: () => StoreHarness): void {
  describe('several handles at the same time', () => {
    let handles: LinkStore[];
    beforeEach(async () => {
      const { store, reopen } = current();
      handles = reopen === undefined ? [store] : [store, await reopen(), await reopen()];
    });
    afterEach(async () => {
      for (const handle of handles.slice(1)) await handle.close();
    });

    /** Gives every handle the items that `itemsOf` makes for it, one call each. */
    const insertEverywhere = async (itemsOf: (handle: number) => InsertItem[]): Promise<string[]> => {
      const calls = handles.flatMap((store, handle) => itemsOf(handle).map(given => store.insert([given])));
      return (await Promise.all(calls)).flat().map(({ kind }) => kind);
    };
    const times = <Made>(count: number, make: (number: number) => Made): Made[] =>
      Array.from({ length: count }, (_, number) => make(number));

    test('every code is given once, in whatever order they are requested', async () => {
      const codes = times(30, number => `code${number}`);
      const kinds = await insertEverywhere(handle => {
        const inOrder = handle % 2 === 0 ? codes : codes.toReversed();
        return inOrder.map(code => item(sampleLink(code, { longUrl: `https://example.com/${handle}` })));
      });
      expect(kinds.filter(kind => kind === 'inserted')).toHaveLength(codes.length);
      expect(kinds.filter(kind => kind === 'taken')).toHaveLength(codes.length * (handles.length - 1));
    });

    test('finding by URL makes one link', async () => {
      const kinds = await insertEverywhere(handle =>
        times(10, number =>
          item(sampleLink(`c${handle}-${number}`, { longUrl: 'https://example.com/wanted' }), {
            existing: 'same-url',
          }),
        ),
      );
      expect(kinds.filter(kind => kind === 'inserted')).toHaveLength(1);
      expect(kinds.filter(kind => kind === 'found')).toHaveLength(10 * handles.length - 1);
    });

    test('an idempotency key makes one link', async () => {
      const record = {
        ownerId: 'acc_1',
        key: 'k',
        fingerprint: 'f',
        createdAt: start,
        validAfter: start - 1,
      };
      const kinds = await insertEverywhere(handle =>
        times(5, number => item(sampleLink(`c${handle}-${number}`), { idempotency: record })),
      );
      expect(kinds.filter(kind => kind === 'inserted')).toHaveLength(1);
      expect(kinds.filter(kind => kind === 'replayed')).toHaveLength(5 * handles.length - 1);
    });

    test('an id is claimed or leased, never both', async () => {
      const [claimant, ...lessees] = [...handles, handles[0]!];
      const ids = times(60, number => number * 7);
      const granted: number[] = [];
      const claiming = async (): Promise<void> => {
        for (const id of ids) {
          const claim = { length: 7, id };
          const [outcome] = await claimant!.insert([
            item(sampleLink(`alias${id}`, { origin: 'custom' }), { claim }),
          ]);
          if (outcome?.kind === 'inserted') granted.push(id);
        }
      };
      const leasing = lessees.map(async store => {
        const leases = [];
        for (let count = 0; count < 8; count += 1) leases.push(await store.leaseRange(7, 20, 10_000));
        return leases;
      });
      const [leases] = await Promise.all([Promise.all(leasing), claiming()]);
      const leased = leases.flat();
      const mark = Math.max(...leased.map(({ to }) => to));
      const leftOut = leased.flatMap(({ claimed }) => claimed).sort((a, b) => a - b);
      expect(granted.filter(id => id < mark)).toEqual(leftOut);
    });

    test('the last click of each of many links is given once, and reported', async () => {
      const codes = times(20, number => `code${number}`);
      await handles[0]!.insert(codes.map(code => item(sampleLink(code, { maxClicks: 1 }))));
      const clicks = handles.flatMap(store => codes.map(code => store.useClick(code, start)));
      expect((await Promise.all(clicks)).filter(Boolean)).toHaveLength(codes.length);
      const { changes } = await handles.at(-1)!.changes(0, 100);
      expect(changes.map(({ code }) => code).sort()).toEqual(codes.toSorted());
    });

    test('a reader of the change feed learns of every change', async () => {
      const perHandle = 40;
      const heard = new Set<string>();
      let isWritten = false;
      const listening = async (): Promise<void> => {
        let afterSeq = 0;
        for (let isLast = false; !isLast; ) {
          isLast = isWritten;
          const page = await handles.at(-1)!.changes(afterSeq, 1_000);
          for (const { code } of page.changes) heard.add(code);
          afterSeq = page.resumeSeq;
          await yieldToEventLoop();
        }
      };
      const receivedAll = listening();
      const kinds = await insertEverywhere(handle =>
        times(perHandle, number => item(sampleLink(`c${handle}-${number}`, { origin: 'custom' }))),
      );
      isWritten = true;
      await receivedAll;
      expect(kinds).toHaveLength(perHandle * handles.length);
      expect(heard.size).toBe(perHandle * handles.length);
    });
  });
}
