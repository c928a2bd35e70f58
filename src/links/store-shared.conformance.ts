/**
 * The part of a store's contract that processes rely on between one another: ranges and claims, idempotency, and the
 * change feed. Part of the suite in store.conformance.ts.
 */
import { beforeEach, describe, expect, test } from 'bun:test';
import type { Link } from './link.ts';
import type { LinkStore } from './store.ts';
import {
  insertItem as item,
  listQuery as query,
  sampleLink,
  samplesStart as start,
} from './store-samples.ts';

export function sharedStateConformance(current: () => LinkStore): void {
  let store: LinkStore;
  beforeEach(() => {
    store = current();
  });
  const insert = (...links: Link[]) => store.insert(links.map(link => item(link)));

  describe('ranges and claims', () => {
    test('leases are disjoint, consecutive and end at the limit', async () => {
      expect(await store.spans(7)).toEqual([]);
      const leases = await Promise.all(Array.from({ length: 10 }, () => store.leaseRange(7, 100, 950)));
      const starts = leases.map(({ from }) => from).sort((a, b) => a - b);
      expect(starts).toEqual([0, 100, 200, 300, 400, 500, 600, 700, 800, 900]);
      expect(Math.max(...leases.map(({ to }) => to))).toBe(950);
      expect(await store.spans(7)).toEqual([{ first: 0, mark: 950 }]);
      const empty = await store.leaseRange(7, 100, 950);
      expect(empty.to).toBe(empty.from);
      expect(await store.spans(8)).toEqual([]);
    });

    test('regions lease from their own shares, and each learns of the claims in its own', async () => {
      const claim = async (id: number): Promise<string> => {
        const link = sampleLink(`alias${id}`, { origin: 'custom' });
        return (await store.insert([item(link, { claim: { length: 7, id } })]))[0]!.kind;
      };
      for (const id of [5, 4_005, 4_499]) expect(await claim(id)).toBe('inserted');
      expect(await store.leaseRange(7, 10, 4_500, 4_000)).toEqual({
        from: 4_000,
        to: 4_010,
        claimed: [4_005],
      });
      expect(await store.leaseRange(7, 10, 4_000)).toEqual({ from: 0, to: 10, claimed: [5] });
      const rest = await store.leaseRange(7, 900, 4_500, 4_000);
      expect(rest).toEqual({ from: 4_010, to: 4_500, claimed: [4_499] });
      expect((await store.leaseRange(7, 10, 4_500, 4_000)).to).toBe(4_500);
      expect(await store.spans(7)).toEqual([
        { first: 0, mark: 10 },
        { first: 4_000, mark: 4_500 },
      ]);
      for (const id of [3_999, 4_500]) expect(await claim(id)).toBe('inserted');
      for (const id of [9, 4_000, 4_498]) expect(await claim(id)).toBe('taken');
      expect(await store.claims(7)).toEqual([3_999, 4_500]);
    });

    test('a share that starts inside an existing span continues after it, and ends before the next', async () => {
      await store.leaseRange(7, 120, 1_000);
      await store.leaseRange(7, 10, 1_000, 200);
      expect(await store.leaseRange(7, 10, 1_000, 100)).toMatchObject({ from: 120, to: 130 });
      expect(await store.leaseRange(7, 500, 1_000, 100)).toMatchObject({ from: 130, to: 200 });
      const usedUp = await store.leaseRange(7, 10, 1_000, 100);
      expect(usedUp.to).toBe(usedUp.from);
    });

    test('a claim below the mark is taken, above it is granted once and left out of later leases', async () => {
      await store.leaseRange(7, 100, 10_000);
      const claim = async (code: string, id: number): Promise<string> =>
        (await store.insert([item(sampleLink(code, { origin: 'custom' }), { claim: { length: 7, id } })]))[0]!
          .kind;
      expect(await claim('below', 99)).toBe('taken');
      expect(await store.find('below')).toBeUndefined();
      expect(await claim('above', 150)).toBe('inserted');
      expect(await claim('again', 150)).toBe('taken');
      expect(await store.find('again')).toBeUndefined();
      expect(await store.claims(7)).toEqual([150]);
      expect(await store.leaseRange(7, 100, 10_000)).toEqual({ from: 100, to: 200, claimed: [150] });
      expect(await store.claims(7)).toEqual([]);
      expect(await claim('late', 150)).toBe('taken');
    });

    test('a claim outlives the link that made it', async () => {
      const link = sampleLink('short', { expiresAt: start });
      await store.insert([item(link, { claim: { length: 7, id: 500 } })]);
      await store.purgeExpired(start + 1, 10);
      expect(await store.find('short')).toBeUndefined();
      const [outcome] = await store.insert([item(sampleLink('short'), { claim: { length: 7, id: 500 } })]);
      expect(outcome?.kind).toBe('taken');
      expect(await store.find('short')).toBeUndefined();
    });
  });

  describe('an insert that may find', () => {
    const longUrl = 'https://example.com/wanted';

    test('by URL creates one link for many requests, in one call and concurrently', async () => {
      const wanted = (code: string) => item(sampleLink(code, { longUrl }), { existing: 'same-url' });
      const outcomes = await Promise.all(
        Array.from({ length: 10 }, (_, n) => store.insert([wanted(`a${n}`), wanted(`b${n}`)])),
      );
      const kinds = outcomes.flat().map(({ kind }) => kind);
      expect(kinds.filter(kind => kind === 'inserted')).toHaveLength(1);
      expect(kinds.filter(kind => kind === 'found')).toHaveLength(19);
      expect((await store.list(query())).links).toHaveLength(1);
    });

    test('by URL returns what finding by URL returns, and creates a link where that finds nothing', async () => {
      await insert(
        sampleLink('foreign', { longUrl, ownerId: 'acc_2' }),
        sampleLink('expired', { longUrl, expiresAt: start }),
        sampleLink('off', { longUrl, status: 'disabled' }),
      );
      const [first] = await store.insert([item(sampleLink('live', { longUrl }), { existing: 'same-url' })]);
      expect(first).toEqual({ kind: 'inserted' });
      const [second] = await store.insert([item(sampleLink('next', { longUrl }), { existing: 'same-url' })]);
      expect(second).toEqual({ kind: 'found', link: sampleLink('live', { longUrl }) });
    });

    test('by code finds the owner’s own live link to the same URL, and nothing else', async () => {
      await store.insert([
        item(sampleLink('code', { longUrl, title: 'T' }), { claim: { length: 7, id: 50 } }),
      ]);
      const again = async (overrides: Partial<Link>) => {
        const extra = { claim: { length: 7, id: 50 }, existing: 'same-code' } as const;
        return (await store.insert([item(sampleLink('code', { longUrl, ...overrides }), extra)]))[0];
      };
      const found = { kind: 'found', link: sampleLink('code', { longUrl, title: 'T' }) } as const;
      expect(await again({})).toEqual(found);
      expect(await again({ ownerId: 'acc_2' })).toEqual({ kind: 'taken' });
      expect(await again({ longUrl: `${longUrl}/2` })).toEqual({ kind: 'taken' });
      await store.leaseRange(7, 100, 1_000);
      expect(await again({})).toEqual(found);
      await store.replace(sampleLink('code', { longUrl, status: 'disabled', version: 2 }));
      expect(await again({})).toEqual({ kind: 'taken' });
    });

    test('by code returns an anonymous link only to an identical request', async () => {
      const nobodys = sampleLink('code', { longUrl, ownerId: null, title: 'T' });
      await store.insert([item(nobodys, { leased: false })]);
      const again = async (overrides: Partial<Link>) =>
        (
          await store.insert([item({ ...nobodys, ...overrides }, { leased: false, existing: 'same-code' })])
        )[0];
      expect(await again({})).toEqual({ kind: 'found', link: nobodys });
      expect(await again({ title: null })).toEqual({ kind: 'taken' });
      expect(await again({ tags: ['t'] })).toEqual({ kind: 'taken' });
      expect(await again({ maxClicks: 1 })).toEqual({ kind: 'taken' });
    });
  });

  describe('idempotency', () => {
    const record = (key: string, createdAt = start) => ({
      ownerId: 'acc_1',
      key,
      fingerprint: `print-${key}`,
      createdAt,
      validAfter: createdAt - 1_000,
    });

    test('a repeat gets the first link and stores nothing', async () => {
      const [first] = await store.insert([item(sampleLink('one'), { idempotency: record('k') })]);
      const [second] = await store.insert([item(sampleLink('two'), { idempotency: record('k') })]);
      expect(first).toEqual({ kind: 'inserted' });
      expect(second).toEqual({
        kind: 'replayed',
        outcome: 'created',
        link: sampleLink('one'),
        fingerprint: 'print-k',
      });
      expect(await store.find('two')).toBeUndefined();
    });

    test('the first answer can be recalled for as long as it is remembered', async () => {
      expect(await store.recall(record('k'))).toBeUndefined();
      await store.insert([item(sampleLink('one'), { idempotency: record('k') })]);
      await store.replace(sampleLink('one', { title: 'edited since', version: 2 }));
      expect(await store.recall(record('k', start + 1_000))).toEqual({
        link: sampleLink('one'),
        outcome: 'created',
        fingerprint: 'print-k',
      });
      expect(await store.recall(record('k', start + 1_001))).toBeUndefined();
      expect(await store.recall({ ...record('k'), ownerId: 'acc_2' })).toBeUndefined();
    });

    test('a link that was found is remembered as found', async () => {
      await insert(sampleLink('one'));
      const again = sampleLink('two', { longUrl: 'https://example.com/one' });
      const found = { existing: 'same-url', idempotency: record('k') } as const;
      expect(await store.insert([item(again, found)])).toEqual([{ kind: 'found', link: sampleLink('one') }]);
      await store.replace(sampleLink('one', { status: 'deleted', longUrl: '', version: 2 }));
      const remembered = { outcome: 'found', link: sampleLink('one'), fingerprint: 'print-k' } as const;
      expect(await store.recall(record('k'))).toEqual(remembered);
      expect(await store.insert([item(again, found)])).toEqual([{ kind: 'replayed', ...remembered }]);
      expect(await store.find('two')).toBeUndefined();
    });

    test('concurrent repeats make one link', async () => {
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          store.insert([item(sampleLink(`r${n}`), { idempotency: record('k') })]),
        ),
      );
      expect(outcomes.flat().filter(({ kind }) => kind === 'inserted')).toHaveLength(1);
      expect((await store.list(query())).links).toHaveLength(1);
    });

    test('expires after its time, and is separate for each owner', async () => {
      await store.insert([item(sampleLink('one'), { idempotency: record('k') })]);
      const [late] = await store.insert([
        item(sampleLink('two'), { idempotency: record('k', start + 5_000) }),
      ]);
      expect(late?.kind).toBe('inserted');
      const [foreign] = await store.insert([
        item(sampleLink('three'), { idempotency: { ...record('k'), ownerId: 'acc_2' } }),
      ]);
      expect(foreign?.kind).toBe('inserted');
    });

    test('a rejected insert leaves no answer behind', async () => {
      await insert(sampleLink('taken'));
      await store.insert([item(sampleLink('taken'), { idempotency: record('k') })]);
      const [next] = await store.insert([item(sampleLink('free'), { idempotency: record('k') })]);
      expect(next?.kind).toBe('inserted');
    });
  });

  describe('the change feed', () => {
    test('names aliases, claims and edits in order, and leaves leased codes out', async () => {
      const token = store.changeToken?.();
      await insert(sampleLink('leased'), sampleLink('alias', { origin: 'custom' }));
      await store.insert([item(sampleLink('claimed'), { claim: { length: 7, id: 42 } })]);
      await store.replace(sampleLink('leased', { version: 2 }));
      const { changes, lastSeq, gap } = await store.changes(0, 10);
      expect(changes.map(({ code, claim }) => [code, claim?.id])).toEqual([
        ['alias', undefined],
        ['claimed', 42],
        ['leased', undefined],
      ]);
      expect([lastSeq, gap]).toEqual([3, false]);
      const second = await store.changes(1, 1);
      expect(second.changes.map(({ code }) => code)).toEqual(['claimed']);
      const third = await store.changes(second.resumeSeq, 10);
      expect(third.changes.map(({ code }) => code)).toEqual(['leased']);
      expect((await store.changes(third.resumeSeq, 10)).changes).toEqual([]);
      expect([second.endSeq, third.endSeq]).toEqual([2, 3]);
      if (token !== undefined) expect(store.changeToken?.()).not.toBe(token);
    });

    test('names every code that was not leased, also one without a claim', async () => {
      await store.insert([item(sampleLink('drawn'), { leased: false })]);
      expect((await store.changes(0, 10)).changes.map(({ code }) => code)).toEqual(['drawn']);
    });

    test('reports when a limited link gave its last click, and not before', async () => {
      await insert(sampleLink('two', { maxClicks: 2 }));
      await store.useClick('two', start);
      expect((await store.changes(0, 10)).changes).toEqual([]);
      await store.useClick('two', start);
      expect((await store.changes(0, 10)).changes.map(({ code }) => code)).toEqual(['two']);
    });

    test('notifies a reader that fell behind the pruned part', async () => {
      await insert(
        sampleLink('a', { origin: 'custom' }),
        sampleLink('b', { origin: 'custom', createdAt: start + 10 }),
      );
      await store.prune({ answersBefore: 0, changesBefore: start + 5 }, 100);
      expect((await store.changes(0, 10)).gap).toBe(true);
      expect((await store.changes(1, 10)).gap).toBe(false);
      await store.prune({ answersBefore: 0, changesBefore: start + 50 }, 100);
      expect(await store.changes(1, 10)).toEqual({
        changes: [],
        lastSeq: 2,
        endSeq: 2,
        resumeSeq: 2,
        gap: true,
      });
      expect(await store.changes(2, 10)).toEqual({
        changes: [],
        lastSeq: 2,
        endSeq: 2,
        resumeSeq: 2,
        gap: false,
      });
    });
  });
}
