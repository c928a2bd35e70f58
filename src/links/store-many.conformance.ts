/**
 * What holds of lists however many links there are: one call examines a bounded number of them. Part of the suite in
 * store.conformance.ts; all of its tests read the same links, because making them takes longest.
 */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Link } from './link.ts';
import { isListed } from './list-match.ts';
import type { LinkStore, ListPage, ListQuery } from './store.ts';
import {
  countedIn,
  insertItem,
  listQuery as query,
  type StoreHarness,
  sampleLink,
  samplesStart as start,
} from './store-samples.ts';

const manyDefault = 4_500;
const callsMax = 100;
const dayMs = 24 * 60 * 60 * 1_000;
/** Few are disabled or held, as stores may expect. */
const states = ['active', 'active', 'disabled', 'active', 'active', 'active', 'blocked', 'active'] as const;

/** Found by its title, destination and domain, and older than all that one call examines before it. */
const needle = sampleLink('needle', { title: 'needle', longUrl: 'https://evil.example/needle' });

const hay = (n: number): Link =>
  sampleLink(`c${n}`, {
    status: states[n % states.length]!,
    tags: n % 3 === 0 ? ['x'] : [],
    title: n % 7 === 0 ? 'Seven' : null,
    longUrl: n % 5 === 0 ? 'https://five.example/' : `https://example.com/${n}`,
    expiresAt: n % 11 === 0 ? start : null,
    createdAt: start + (n + 1) * 1_000,
  });

export function manyLinksConformance(name: string, open: () => Promise<StoreHarness>): void {
  describe(`many links: ${name}`, () => {
    let harness: StoreHarness;
    let store: LinkStore;
    /** In the order of their creation. */
    let links: readonly Link[];
    beforeAll(async () => {
      harness = await open();
      store = harness.store;
      links = [
        sampleLink('old', { createdAt: start - 20 * dayMs }),
        needle,
        ...Array.from({ length: harness.many ?? manyDefault }, (_, n) => hay(n)),
        sampleLink('recent', { createdAt: start + 20 * dayMs }),
      ];
      await store.insert(
        [...links, sampleLink('foreign', { ownerId: 'acc_2' })].map(link => insertItem(link)),
      );
    });
    afterAll(() => harness.dispose());

    const walk = async (read: (cursor: string | undefined) => Promise<ListPage>): Promise<string[]> => {
      const seen: string[] = [];
      let cursor: string | undefined;
      let calls = 0;
      do {
        const page = await read(cursor);
        seen.push(...page.links.map(({ code }) => code));
        cursor = page.nextCursor;
        calls += 1;
      } while (cursor !== undefined && calls < callsMax);
      return seen;
    };
    const found = (overrides: Partial<ListQuery>): Promise<string[]> =>
      walk(cursor => store.list(query({ ...overrides, cursor })));

    test('a rare match is found behind the others by following the cursor', async () => {
      expect(await found({ search: 'needle' })).toEqual(['needle']);
    });

    test('a link to a domain is found behind the others by following the cursor', async () => {
      const read = (cursor: string | undefined) =>
        store.listByDomain({ domain: 'evil.example', limit: 100, cursor });
      expect(await walk(read)).toEqual(['needle']);
    });

    test('an exact destination is found by index', async () => {
      const page = await store.list(query({ longUrl: needle.longUrl }));
      expect(page).toMatchObject({ links: [{ code: 'needle' }], nextCursor: undefined });
    });

    test('a time is found without examining everything created before or since', async () => {
      for (const order of ['newest', 'oldest'] as const) {
        const old = await store.list(query({ createdTo: start - 10 * dayMs, order }));
        expect(old).toMatchObject({ links: [{ code: 'old' }], nextCursor: undefined });
        const recent = await store.list(query({ createdFrom: start + 10 * dayMs, order }));
        expect(recent).toMatchObject({ links: [{ code: 'recent' }], nextCursor: undefined });
      }
    });

    test('counting agrees with listing, for every filter', async () => {
      const filters: Partial<ListQuery>[] = [
        {},
        { tag: 'x' },
        { state: 'active' },
        { state: 'expired' },
        { state: 'blocked' },
        { search: 'seven' },
        { domain: 'five.example' },
        { longUrl: 'https://five.example/' },
        { tag: 'x', state: 'disabled', domain: 'five.example', createdFrom: start + 100_000 },
        { createdFrom: start + 50_000, createdTo: start + 60_000 },
      ];
      for (const filter of filters) {
        const expected = links.filter(link => isListed(link, query(filter))).map(({ code }) => code);
        expect(expected.length).toBeGreaterThan(0);
        expect([filter, await countedIn(store, filter)]).toEqual([filter, expected.length]);
        expect([filter, await found({ ...filter, limit: 1_000, order: 'oldest' })]).toEqual([
          filter,
          expected,
        ]);
      }
    });
  });
}
