/**
 * The contract of lists with the narrower filters, and of counting a list. Part of the suite in store.conformance.ts.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Link } from './link.ts';
import type { LinkStore, ListQuery } from './store.ts';
import {
  countedIn,
  insertItem as item,
  listQuery as query,
  type StoreHarness,
  sampleLink,
  samplesStart as start,
} from './store-samples.ts';

const hourMs = 60 * 60 * 1_000;
const dayMs = 24 * hourMs;

export function listsConformance(current: () => StoreHarness): void {
  describe('narrower lists', () => {
    let store: LinkStore;
    beforeEach(() => {
      store = current().store;
    });
    const insert = (...links: Link[]) => store.insert(links.map(link => item(link)));
    const found = async (overrides: Partial<ListQuery>): Promise<string[]> => {
      const seen: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await store.list(query({ ...overrides, cursor }));
        seen.push(...page.links.map(({ code }) => code));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return seen;
    };

    test('an exact destination finds links in every state, and no others', async () => {
      const longUrl = 'https://example.com/same';
      await insert(
        sampleLink('active', { longUrl, tags: ['x'] }),
        sampleLink('other'),
        sampleLink('off', { longUrl, status: 'disabled', tags: ['x'] }),
        sampleLink('otherOff', { status: 'disabled' }),
        sampleLink('expired', { longUrl, expiresAt: start }),
        sampleLink('warned', { longUrl, status: 'quarantined' }),
        sampleLink('foreign', { longUrl, ownerId: 'acc_2' }),
        sampleLink('blocked', { longUrl, status: 'blocked' }),
        sampleLink('gone', { longUrl: '', status: 'deleted' }),
        sampleLink('longer', { longUrl: `${longUrl}/` }),
        sampleLink('newest', { longUrl, createdAt: start + 5 }),
      );
      const expected = ['newest', 'blocked', 'warned', 'expired', 'off', 'active'];
      for (const limit of [1, 4, 100]) {
        expect(await found({ longUrl, limit })).toEqual(expected);
        expect(await found({ longUrl, limit, order: 'oldest' })).toEqual(expected.toReversed());
      }
      expect(await found({ longUrl, state: 'active' })).toEqual(['newest', 'active']);
      expect(await found({ longUrl, state: 'expired' })).toEqual(['expired']);
      expect(await found({ longUrl, state: 'disabled' })).toEqual(['off']);
      expect(await found({ longUrl, tag: 'x' })).toEqual(['off', 'active']);
      expect(await found({ longUrl, tag: 'x', state: 'disabled' })).toEqual(['off']);
      expect(await found({ longUrl, createdFrom: start + 5 })).toEqual(['newest']);
      expect(await found({ longUrl: 'https://example.com/nothing' })).toEqual([]);
      expect(await countedIn(store, { longUrl })).toBe(expected.length);
      expect(await countedIn(store, { longUrl, tag: 'x' })).toBe(2);
    });

    test('a domain finds links to it and below it, whatever the rest of the URL', async () => {
      await insert(
        sampleLink('exact', { longUrl: 'https://shop.example/a' }),
        sampleLink('port', { longUrl: 'http://shop.example:8080/?q=1' }),
        sampleLink('below', { longUrl: 'https://www.shop.example/' }),
        sampleLink('longer', { longUrl: 'https://notshop.example/' }),
        sampleLink('suffix', { longUrl: 'https://shop.example.org/' }),
        sampleLink('path', { longUrl: 'https://other.example/.shop.example:/' }),
        sampleLink('query', { longUrl: 'https://other.example/?to=https://shop.example/' }),
        sampleLink('foreign', { longUrl: 'https://shop.example/', ownerId: 'acc_2' }),
        sampleLink('gone', { longUrl: '', status: 'deleted' }),
      );
      expect(await found({ domain: 'shop.example' })).toEqual(['below', 'port', 'exact']);
      expect(await found({ domain: 'shop.example', limit: 1 })).toEqual(['below', 'port', 'exact']);
      expect(await found({ domain: 'www.shop.example' })).toEqual(['below']);
      expect(await found({ domain: 'example' })).toHaveLength(6);
      expect(await found({ domain: "'; DROP TABLE links; --" })).toEqual([]);
      expect(await countedIn(store, { domain: 'shop.example' })).toBe(3);
    });

    test('a time range of creation includes its start and excludes its end, in either order', async () => {
      const all = Array.from({ length: 12 }, (_, n) =>
        sampleLink(`c${n}`, { createdAt: start + n * 10 * dayMs, tags: n % 2 === 0 ? ['even'] : [] }),
      );
      await insert(...all);
      const within = { createdFrom: all[3]!.createdAt, createdTo: all[8]!.createdAt };
      const expected = ['c3', 'c4', 'c5', 'c6', 'c7'];
      for (const limit of [1, 3, 100]) {
        expect(await found({ ...within, limit, order: 'oldest' })).toEqual(expected);
        expect(await found({ ...within, limit })).toEqual(expected.toReversed());
      }
      expect(await found({ createdFrom: all[10]!.createdAt + 1 })).toEqual(['c11']);
      expect(await found({ createdTo: all[1]!.createdAt + 1 })).toEqual(['c1', 'c0']);
      expect(await found({ ...within, tag: 'even' })).toEqual(['c6', 'c4']);
      expect(await found({ createdFrom: 0, createdTo: 1 })).toEqual([]);
      expect(await found({ createdFrom: Date.UTC(9998, 0), order: 'oldest' })).toEqual([]);
      expect(await found({ createdTo: Date.UTC(9998, 0) })).toHaveLength(12);
      expect(await countedIn(store, within)).toBe(5);
    });

    test('links stored out of creation order are still found by time', async () => {
      const hours = [50, 40, 60, 30, 70, 45, 90, 66, 100, 85];
      const all = hours.map(hour => sampleLink(`h${hour}`, { createdAt: start + hour * hourMs }));
      for (const link of all) await insert(link);
      for (const order of ['newest', 'oldest'] as const) {
        for (const [from, to] of [
          [40, 70],
          [30, 31],
          [85, 200],
        ] as const) {
          const within = { createdFrom: start + from * hourMs, createdTo: start + to * hourMs };
          const expected = hours.filter(hour => hour >= from && hour < to).map(hour => `h${hour}`);
          expect((await found({ ...within, order, limit: 2 })).toSorted()).toEqual(expected.toSorted());
        }
      }
    });

    test('links that waited in the queue for days do not hide newer ones that were stored before them', async () => {
      const hours = [150, 151, 152, 20, 21, 22, 23, 24];
      for (const hour of hours) await insert(sampleLink(`h${hour}`, { createdAt: start + hour * hourMs }));
      for (const order of ['newest', 'oldest'] as const) {
        const recent = await found({ createdFrom: start + 149 * hourMs, order, limit: 2 });
        expect(recent.toSorted()).toEqual(['h150', 'h151', 'h152']);
        const late = await found({ createdTo: start + 22 * hourMs, order, limit: 2 });
        expect(late.toSorted()).toEqual(['h20', 'h21']);
      }
    });
  });
}
