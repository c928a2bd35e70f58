/** A server that took over from another, which may have leased and noted more than was copied. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import type { LinkStore } from '../../store.ts';
import { insertItem, sampleLink } from '../../store-samples.ts';
import { freshDatabase, openStore } from './fake-database.ts';
import { forgottenChangesMax } from './feed.ts';
import { forgottenIdsMax } from './ranges.ts';

describeWithEngine('postgres', 'links in a Postgres that was promoted or restored', () => {
  let store: LinkStore;
  let postgres: Postgres;
  beforeEach(async () => {
    ({ store, postgres } = await openStore(await freshDatabase()));
  });
  afterEach(() => store.close());

  const limit = 62 ** 7;
  /** What the database holds is now what another server wrote. */
  const takeOver = async (): Promise<void> => {
    await postgres.query("UPDATE ranges SET lineage = 'another'");
    await postgres.query("UPDATE feed SET lineage = 'another'");
  };
  const note = async (code: string): Promise<void> => {
    await store.insert([insertItem(sampleLink(code, { origin: 'custom' }), { leased: false })]);
  };

  test('leases pass over what the other may have leased, in every share, once', async () => {
    await store.leaseRange(7, 100, limit / 2);
    await store.leaseRange(7, 50, limit, limit / 2);
    expect((await store.leaseRange(7, 100, limit / 2)).from).toBe(100);
    await takeOver();
    const lease = await store.leaseRange(7, 100, limit / 2);
    expect(lease.from).toBe(200 + forgottenIdsMax);
    expect((await store.leaseRange(7, 100, limit / 2)).from).toBe(lease.to);
    expect((await store.leaseRange(7, 50, limit, limit / 2)).from).toBe(limit / 2 + 50 + forgottenIdsMax);
  });

  test('what the other may have leased counts as leased, for visitors and for aliases, before anyone leases again', async () => {
    await store.leaseRange(7, 100, limit);
    expect(await store.spans(7)).toEqual([{ first: 0, mark: 100 }]);
    await takeOver();
    expect(await store.spans(7)).toEqual([{ first: 0, mark: 100 + forgottenIdsMax }]);
    const claimed = (id: number) =>
      store.insert([
        insertItem(sampleLink(`alias${id}`, { origin: 'custom' }), {
          leased: false,
          claim: { length: 7, id },
        }),
      ]);
    expect(await claimed(99 + forgottenIdsMax)).toEqual([{ kind: 'taken' }]);
    expect(await claimed(100 + forgottenIdsMax)).toEqual([{ kind: 'inserted' }]);
    await store.leaseRange(7, 100, limit);
    expect(await store.spans(7)).toEqual([{ first: 0, mark: 200 + forgottenIdsMax }]);
  });

  test('a reader of the other’s feed finds a gap, and then continues as usual', async () => {
    await note('a');
    const before = await store.changes(0, 10);
    await takeOver();
    expect(await store.changes(before.resumeSeq, 10)).toMatchObject({ changes: [], gap: false });
    await note('b');
    await note('c');
    const after = await store.changes(before.resumeSeq, 10);
    expect(after.gap).toBe(true);
    expect(after.changes.map(({ seq, code }) => [seq, code])).toEqual([
      [before.lastSeq + forgottenChangesMax + 1, 'b'],
      [before.lastSeq + forgottenChangesMax + 2, 'c'],
    ]);
    await note('d');
    const last = await store.changes(after.resumeSeq, 10);
    expect([last.gap, last.changes.map(({ code }) => code)]).toEqual([false, ['d']]);
  });

  test('the last click of a limited link is noted behind the gap too', async () => {
    await store.insert([insertItem(sampleLink('once', { maxClicks: 1 }))]);
    const { lastSeq } = await store.changes(0, 10);
    await takeOver();
    expect(await store.useClick('once', 1)).toBe(true);
    expect(await store.changes(lastSeq, 10)).toMatchObject({ gap: true, changes: [{ code: 'once' }] });
  });

  test('the server reports its lineage to every role that may use the tables', async () => {
    const [row] = await postgres.query<{ lineage: string }>('SELECT terse_lineage() AS lineage');
    expect(row!.lineage).toMatch(/^\d+\/[0-9A-F]{8}$/);
  });
});
