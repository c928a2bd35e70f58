/**
 * The contract of a link store, as tests. Every driver runs this suite against its real engine; `reopen` opens a second
 * handle on the same data, as another process would have.
 */
import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import type { Link } from './link.ts';
import type { LinkStore, ListQuery } from './store.ts';
import { severalHandlesConformance } from './store-handles.conformance.ts';
import { listsConformance } from './store-lists.conformance.ts';
import { manyLinksConformance } from './store-many.conformance.ts';
import { outboxConformance } from './store-outbox.conformance.ts';
import {
  allFlags,
  insertItem as item,
  listQuery as query,
  type StoreHarness,
  sampleLink,
  samplesStart as start,
} from './store-samples.ts';
import { sharedStateConformance } from './store-shared.conformance.ts';

export function linkStoreConformance(name: string, open: () => Promise<StoreHarness>): void {
  manyLinksConformance(name, open);

  describe(`link store: ${name}`, () => {
    let harness: StoreHarness;
    let store: LinkStore;
    beforeEach(async () => {
      harness = await open();
      store = harness.store;
    });
    afterEach(() => harness.dispose());

    const insert = async (...links: Link[]): Promise<string[]> =>
      (await store.insert(links.map(link => item(link)))).map(({ kind }) => kind);
    const codes = (links: readonly Link[]): string[] => links.map(({ code }) => code);

    describe('a link', () => {
      test('comes back exactly as it was written', async () => {
        const plain = sampleLink('plain');
        const full = sampleLink('full', {
          longUrl: 'https://example.com/ü?a=1&b=%F0%9F%98%80#x',
          origin: 'custom',
          redirectType: 308,
          ...allFlags,
          title: 'A “title” with\nnew lines and 😀',
          tags: ['b', 'a'],
          expiresAt: start + 1_000,
          maxClicks: 5,
          ownerId: null,
          status: 'quarantined',
          risk: { score: 65, reasons: ['newDomain', 'phishingWords'] },
        });
        expect(await insert(plain, full)).toEqual(['inserted', 'inserted']);
        expect(await store.find('plain')).toEqual(plain);
        expect(await store.find('full')).toEqual(full);
        expect(await store.find('other')).toBeUndefined();
      });

      test('is found beside any number of others, whatever is asked for together', async () => {
        const links = Array.from({ length: 260 }, (_, n) => sampleLink(`together${n}`, { tags: [`t${n}`] }));
        await store.insert(links.map(link => item(link)));
        const asked = [...links.toReversed(), undefined, links[3], links[3], undefined];
        const find = (link: Link | undefined) => store.find(link?.code ?? 'together-none');
        expect(await Promise.all(asked.map(find))).toEqual(asked);
        const near = asked.map(async link => store.findNear?.(link?.code ?? 'together-none') ?? link);
        const found = (await Promise.all(near)).filter(link => link !== undefined);
        expect(links).toEqual(expect.arrayContaining(found));
        const odd = ['together0\0', '\ud800', 'x'.repeat(300)];
        const answers = odd.map(code => store.find(code).catch(() => undefined));
        const all = await Promise.all([...answers, store.find('together7')]);
        expect(all).toEqual([...odd.map(() => undefined), links[7]]);
      });

      test('codes that differ only in case are different links', async () => {
        expect(await insert(sampleLink('Abc'), sampleLink('aBC'))).toEqual(['inserted', 'inserted']);
        expect((await store.find('Abc'))?.longUrl).toBe('https://example.com/Abc');
        expect(await store.find('ABC')).toBeUndefined();
      });

      test('is never overwritten by a later insert, and the other items of the call are stored', async () => {
        await insert(sampleLink('taken'));
        const outcome = await insert(
          sampleLink('a'),
          sampleLink('taken', { longUrl: 'https://evil.example/' }),
          sampleLink('b'),
        );
        expect(outcome).toEqual(['inserted', 'taken', 'inserted']);
        expect((await store.find('taken'))?.longUrl).toBe('https://example.com/taken');
        expect(await store.find('b')).toBeDefined();
      });

      test('of many concurrent inserts of one code exactly one wins', async () => {
        const outcomes = await Promise.all(
          Array.from({ length: 64 }, (_, n) =>
            insert(sampleLink('race', { longUrl: `https://example.com/${n}` })),
          ),
        );
        const winners = outcomes.flatMap(([kind], n) => (kind === 'inserted' ? [n] : []));
        expect(winners).toHaveLength(1);
        expect((await store.find('race'))?.longUrl).toBe(`https://example.com/${winners[0]}`);
      });

      test('is visible to other handles as soon as the insert resolves', async () => {
        if (harness.reopen === undefined) return;
        const other = await harness.reopen();
        await insert(sampleLink('shared'));
        expect(await other.find('shared')).toEqual(sampleLink('shared'));
        await other.close();
      });
    });

    describe('an edit', () => {
      test('replaces the version it saw', async () => {
        await insert(sampleLink('edit', { tags: ['old', 'kept'] }));
        const edited = sampleLink('edit', {
          longUrl: 'https://example.org/',
          status: 'disabled',
          tags: ['kept', 'new'],
          title: 'T',
          redirectType: 301,
          ...allFlags,
          expiresAt: start + 5,
          maxClicks: 9,
          risk: { score: 20, reasons: ['phishingWords'] },
          updatedAt: start + 1,
          version: 2,
        });
        expect(await store.replace(edited)).toBe('replaced');
        expect(await store.find('edit')).toEqual(edited);
        expect(codes((await store.list(query({ tag: 'new' }))).links)).toEqual(['edit']);
        expect(codes((await store.list(query({ tag: 'kept' }))).links)).toEqual(['edit']);
        expect((await store.list(query({ tag: 'old' }))).links).toEqual([]);
      });

      test('of an outdated version is a conflict and changes nothing', async () => {
        await insert(sampleLink('edit'));
        expect(await store.replace(sampleLink('edit', { title: 'first', version: 2 }))).toBe('replaced');
        expect(await store.replace(sampleLink('edit', { title: 'second', version: 2 }))).toBe('conflict');
        expect((await store.find('edit'))?.title).toBe('first');
        expect(await store.replace(sampleLink('nobody', { version: 2 }))).toBe('missing');
      });

      test('is made by exactly one of many callers that saw the same version', async () => {
        await insert(sampleLink('edit'), sampleLink('other'));
        const edit = (n: number) => store.replace(sampleLink('edit', { title: `${n}`, version: 2 }));
        // A store that batches edits is busy with the first, so that the others share a batch.
        const first = store.replace(sampleLink('other', { version: 2 }));
        const outcomes = await Promise.all(Array.from({ length: 20 }, (_, n) => edit(n)));
        expect(await first).toBe('replaced');
        const winners = outcomes.flatMap((outcome, n) => (outcome === 'replaced' ? [`${n}`] : []));
        expect(winners).toHaveLength(1);
        expect((await store.find('edit'))?.title).toBe(winners[0]!);
        expect((await store.changes(0, 100)).changes).toHaveLength(2);
      });

      test('keeps the clicks that were counted in the meantime', async () => {
        await insert(sampleLink('clicks', { maxClicks: 3 }));
        await store.useClick('clicks', start);
        await store.replace(sampleLink('clicks', { maxClicks: 3, title: 'x', version: 2 }));
        expect((await store.find('clicks'))?.usedClicks).toBe(1);
        await store.replace(sampleLink('clicks', { maxClicks: 2, version: 3 }));
        expect(await store.useClick('clicks', start)).toBe(true);
        expect(await store.useClick('clicks', start)).toBe(false);
      });

      test('to a tombstone keeps the code taken forever', async () => {
        await insert(sampleLink('gone'));
        await store.replace(sampleLink('gone', { longUrl: '', status: 'deleted', version: 2 }));
        expect(await insert(sampleLink('gone'))).toEqual(['taken']);
        expect((await store.find('gone'))?.status).toBe('deleted');
        expect((await store.list(query())).links).toEqual([]);
      });
    });

    test('a click limit lets exactly that many through under concurrency', async () => {
      await insert(
        sampleLink('limited', { maxClicks: 10 }),
        sampleLink('off', { maxClicks: 1, status: 'disabled' }),
        sampleLink('blocked', { maxClicks: 1, status: 'blocked' }),
        sampleLink('warned', { maxClicks: 1, status: 'quarantined' }),
      );
      const allowed = await Promise.all(Array.from({ length: 50 }, () => store.useClick('limited', start)));
      expect(allowed.filter(Boolean)).toHaveLength(10);
      expect((await store.find('limited'))?.usedClicks).toBe(10);
      expect(await store.useClick('off', start)).toBe(false);
      expect(await store.useClick('blocked', start)).toBe(false);
      expect(await store.useClick('warned', start)).toBe(true);
      expect(await store.useClick('warned', start)).toBe(false);
      expect(await store.useClick('nobody', start)).toBe(false);
    });

    describe('finding by URL', () => {
      test('gives the newest live link of that owner to exactly that URL', async () => {
        const longUrl = 'https://example.com/same';
        await insert(
          sampleLink('first', { longUrl }),
          sampleLink('second', { longUrl }),
          sampleLink('foreign', { longUrl, ownerId: 'acc_2' }),
          sampleLink('nobodys', { longUrl, ownerId: null }),
          sampleLink('longer', { longUrl: `${longUrl}/` }),
        );
        expect((await store.findByUrl('acc_1', longUrl, start))?.code).toBe('second');
        expect((await store.findByUrl(null, longUrl, start))?.code).toBe('nobodys');
        expect(await store.findByUrl('acc_3', longUrl, start)).toBeUndefined();
      });

      test('skips links that are expired, disabled, held, deleted or used up', async () => {
        const longUrl = 'https://example.com/same';
        await insert(
          sampleLink('live', { longUrl }),
          sampleLink('expired', { longUrl, expiresAt: start }),
          sampleLink('disabled', { longUrl, status: 'disabled' }),
          sampleLink('quarantined', { longUrl, status: 'quarantined' }),
          sampleLink('blocked', { longUrl, status: 'blocked' }),
          sampleLink('deleted', { longUrl, status: 'deleted' }),
          sampleLink('used', { longUrl, maxClicks: 1, usedClicks: 1 }),
        );
        expect((await store.findByUrl('acc_1', longUrl, start))?.code).toBe('live');
        await store.replace(sampleLink('live', { longUrl: 'https://example.com/moved', version: 2 }));
        expect(await store.findByUrl('acc_1', longUrl, start)).toBeUndefined();
        expect((await store.findByUrl('acc_1', 'https://example.com/moved', start))?.code).toBe('live');
      });
    });

    describe('listing', () => {
      test('walks all of an owner’s links once, in either order, in pages of any size', async () => {
        const all = Array.from({ length: 25 }, (_, n) => sampleLink(`c${n}`));
        await insert(
          ...all,
          sampleLink('foreign', { ownerId: 'acc_2' }),
          sampleLink('nobodys', { ownerId: null }),
        );
        for (const order of ['newest', 'oldest'] as const) {
          const expected = order === 'oldest' ? codes(all) : codes(all).reverse();
          for (const limit of [1, 7, 25, 100]) {
            const seen: string[] = [];
            let cursor: string | undefined;
            do {
              const page = await store.list(query({ order, limit, cursor }));
              expect(page.links.length).toBeLessThanOrEqual(limit);
              seen.push(...codes(page.links));
              cursor = page.nextCursor;
            } while (cursor !== undefined);
            expect(seen).toEqual(expected);
          }
        }
        expect(codes((await store.list(query({ ownerId: null }))).links)).toEqual(['nobodys']);
      });

      test('filters by tag, state and text, and by all of them together', async () => {
        await insert(
          sampleLink('active', { tags: ['x'], title: 'Summer SALE' }),
          sampleLink('off', { tags: ['x'], status: 'disabled' }),
          sampleLink('old', { tags: ['x', 'y'], expiresAt: start }),
          sampleLink('used', { maxClicks: 1, usedClicks: 1 }),
          sampleLink('gone', { status: 'deleted' }),
          sampleLink('warned', { status: 'quarantined', tags: ['z'], expiresAt: start }),
          sampleLink('blocked', { status: 'blocked', tags: ['z'] }),
        );
        const found = async (overrides: Partial<ListQuery>) =>
          codes((await store.list(query(overrides))).links);
        expect(await found({})).toEqual(['blocked', 'warned', 'used', 'old', 'off', 'active']);
        expect(await found({ state: 'quarantined' })).toEqual(['warned']);
        expect(await found({ state: 'blocked' })).toEqual(['blocked']);
        expect(await found({ state: 'blocked', tag: 'z' })).toEqual(['blocked']);
        expect(await found({ state: 'quarantined', tag: 'x' })).toEqual([]);
        expect(await found({ tag: 'x' })).toEqual(['old', 'off', 'active']);
        expect(await found({ tag: 'y' })).toEqual(['old']);
        expect(await found({ tag: 'nothing' })).toEqual([]);
        expect(await found({ state: 'active' })).toEqual(['active']);
        expect(await found({ state: 'disabled' })).toEqual(['off']);
        expect(await found({ state: 'expired' })).toEqual(['old']);
        expect(await found({ state: 'exhausted' })).toEqual(['used']);
        expect(await found({ search: 'sale' })).toEqual(['active']);
        expect(await found({ search: 'EXAMPLE.com/o' })).toEqual(['old', 'off']);
        expect(await found({ search: '\\' })).toEqual([]);
        expect(await found({ search: '%' })).toEqual([]);
        expect(await found({ search: '_' })).toEqual([]);
        expect(await found({ tag: 'x', state: 'disabled', search: 'off' })).toEqual(['off']);
      });

      test('searches ignoring the case of ASCII letters, and of no others', async () => {
        await insert(
          sampleLink('CODE', { longUrl: 'https://example.com/Path?Q=%C3%89', title: 'CAFÉ \u212A' }),
          sampleLink('other', { longUrl: 'https://example.org/', title: 'nothing of it' }),
        );
        const found = async (search: string) => codes((await store.list(query({ search }))).links);
        for (const search of ['code', 'coDE', 'PATH?q', '%c3%89', 'caf', 'cafÉ', 'É', '\u212A']) {
          expect([search, await found(search)]).toEqual([search, ['CODE']]);
        }
        for (const search of ['café', 'é', 'cafÉ k', 'CODEX']) {
          expect([search, await found(search)]).toEqual([search, []]);
        }
      });

      test('rejects a cursor it never issued', async () => {
        await expect(store.list(query({ cursor: "'; DROP TABLE links" }))).rejects.toThrow('cursor');
      });
    });

    describe('listing by domain', () => {
      const found = async (domain: string, limit = 100): Promise<string[]> => {
        const seen: string[] = [];
        let cursor: string | undefined;
        do {
          const page = await store.listByDomain({ domain, limit, cursor });
          expect(page.links.length).toBeLessThanOrEqual(limit);
          seen.push(...codes(page.links));
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        return seen;
      };

      test('returns the links of all owners to it and below it, whatever their status, and no others', async () => {
        await insert(
          sampleLink('exact', { longUrl: 'https://evil.example/a' }),
          sampleLink('port', { longUrl: 'http://evil.example:8080/', ownerId: null }),
          sampleLink('below', { longUrl: 'https://login.evil.example/', ownerId: 'acc_2' }),
          sampleLink('blocked', { longUrl: 'https://evil.example/b', status: 'blocked' }),
          sampleLink('longer', { longUrl: 'https://notevil.example/' }),
          sampleLink('path', { longUrl: 'https://good.example/?to=https://evil.example/' }),
          sampleLink('suffix', { longUrl: 'https://evil.example.org/' }),
          sampleLink('gone', { longUrl: '', status: 'deleted' }),
        );
        for (const limit of [1, 2, 100])
          expect(await found('evil.example', limit)).toEqual(['blocked', 'below', 'port', 'exact']);
        expect(await found('login.evil.example')).toEqual(['below']);
        expect(await found("'; DROP TABLE links; --")).toEqual([]);
      });
    });

    listsConformance(() => harness);
    sharedStateConformance(() => store);
    severalHandlesConformance(() => harness);
    outboxConformance(() => harness);

    test('purging removes expired generated links, keeps expired aliases as tombstones, spares the rest', async () => {
      await insert(
        sampleLink('old1', { expiresAt: start - 10, tags: ['t'] }),
        sampleLink('old2', {
          expiresAt: start - 5,
          origin: 'custom',
          tags: ['t'],
          risk: { score: 10, reasons: ['suspiciousTld'] },
        }),
        sampleLink('fresh', { expiresAt: start + 5, tags: ['t'] }),
        sampleLink('forever', { tags: ['t'] }),
      );
      expect(await store.purgeExpired(start, 1)).toBe(1);
      expect(await store.purgeExpired(start, 10)).toBe(1);
      expect(await store.purgeExpired(start, 10)).toBe(0);
      expect(await store.find('old1')).toBeUndefined();
      expect(await store.find('old2')).toMatchObject({ status: 'deleted', longUrl: '', risk: null });
      expect(codes((await store.list(query({ tag: 't' }))).links)).toEqual(['forever', 'fresh']);
    });

    test('purging keeps a code taken that neither a lease nor a claim protects', async () => {
      const link = sampleLink('drawn', { expiresAt: start - 10 });
      await store.insert([item(link, { leased: false })]);
      expect(await store.purgeExpired(start, 10)).toBe(1);
      expect(await store.find('drawn')).toMatchObject({ status: 'deleted', longUrl: '' });
      expect(await insert(sampleLink('drawn', { origin: 'custom' }))).toEqual(['taken']);
      expect(await store.purgeExpired(start, 10)).toBe(0);
    });

    test('the installation secret is the first candidate for every caller', async () => {
      const first = await store.installationSecret(new Uint8Array([1, 2, 3]));
      expect([...first]).toEqual([1, 2, 3]);
      const other = (await harness.reopen?.()) ?? store;
      expect([...(await other.installationSecret(new Uint8Array([9])))]).toEqual([1, 2, 3]);
      if (other !== store) await other.close();
    });
  });
}
