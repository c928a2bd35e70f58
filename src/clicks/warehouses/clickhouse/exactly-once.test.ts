import { beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { grainMs } from '../../warehouse.ts';
import { viewedTables } from './columns.ts';
import {
  EventfulClickHouse,
  everythingIn,
  openWorld,
  partitionOf,
  sampleClicks,
  type World,
} from './fake-clickhouse-world.ts';
import { generationStatements } from './schema.ts';

describeWithEngine('clickhouse', 'a block is counted once in ClickHouse', () => {
  const batches = partitionOf(sampleClicks(1, 600), 100);
  const [first, second, third] = [batches.slice(0, 2), batches.slice(2, 4), batches.slice(4)];
  const blocks = [first, second, third] as readonly LogBatch[][];
  let expected: Awaited<ReturnType<typeof everythingIn>>;
  beforeAll(async () => {
    const { warehouse } = await openWorld();
    for (const block of blocks) await warehouse.apply(block);
    expected = await everythingIn(warehouse);
    expect(expected.ledger.reduce((sum, { counted }) => sum + counted, 0)).toBe(600);
  });

  /** The rest is counted by other processes, which are given the block again before they continue. */
  async function finishedByOthers({ another }: World): Promise<void> {
    const [next, last] = [another(), another()];
    for (const block of blocks) await next.apply(block);
    for (const block of blocks) expect(await last.apply(block)).toEqual({ clicks: 0, duplicates: 0 });
    expect(await everythingIn(last)).toEqual(expected);
  }

  test.each([
    ['before', 'incoming'],
    ['after', 'incoming'],
    ['before', 'ledger'],
    ['after', 'ledger'],
  ])('when who counts it dies %s its insert into %s', async (when, table) => {
    const world = await openWorld();
    const dying = new EventfulClickHouse(world.url, (now, what) => {
      if (now === when && what.startsWith(`INSERT INTO ${table}_`)) throw new Error('killed');
    });
    await expect(world.another(dying).apply(first!)).rejects.toThrow('killed');
    await finishedByOthers(world);
  });

  test.each([...viewedTables])('when everything but its rows in %s had arrived', async table => {
    const world = await openWorld();
    await world.clickHouse.run(`DROP VIEW to_${table}_0 SYNC`);
    const dying = new EventfulClickHouse(world.url, (when, what) => {
      if (when === 'after' && what.startsWith('INSERT INTO incoming_')) throw new Error('killed');
    });
    await expect(world.another(dying).apply(first!)).rejects.toThrow('killed');
    for (const statement of generationStatements(0)) await world.clickHouse.run(statement);
    await finishedByOthers(world);
  });

  test('when a process that was thought dead wakes up and inserts it after others continued', async () => {
    const world = await openWorld();
    const { promise: awake, resolve: wake } = Promise.withResolvers<void>();
    const sleeping = new EventfulClickHouse(world.url, (when, what) =>
      when === 'before' && what.startsWith('INSERT INTO incoming_') ? awake : undefined,
    );
    const late = world.another(sleeping).apply(first!);
    for (const block of blocks) await world.another().apply(block);
    wake();
    await late;
    await finishedByOthers(world);
  });

  test('when several count it at the same moment', async () => {
    const world = await openWorld();
    for (const block of blocks) {
      await Promise.all(Array.from({ length: 3 }, () => world.another().apply(block)));
    }
    await finishedByOthers(world);
  });

  test('when a link was forgotten before it came again, so that it no longer is the same', async () => {
    const world = await openWorld();
    const dying = new EventfulClickHouse(world.url, (when, what) => {
      if (when === 'after' && what.startsWith('INSERT INTO incoming_')) throw new Error('killed');
    });
    await expect(world.another(dying).apply(first!)).rejects.toThrow('killed');
    await world.warehouse.forget('link0', samplesStart + grainMs.day);
    for (const block of blocks) await world.another().apply(block);
    const found = await everythingIn(world.another());
    expect(found.totals[0]).not.toEqual(expected.totals[0]);
    // Accounts and tags keep what they had of a link.
    expect(found.totals.slice(1)).toEqual(expected.totals.slice(1));
    const ofLink0 = 3;
    expect(found.answers.toSpliced(ofLink0, 1)).toEqual(expected.answers.toSpliced(ofLink0, 1));
  });

  test('without what was deleted while it was on its way', async () => {
    const { another, url } = await openWorld();
    const mark = samplesStart + grainMs.day / 2;
    const of = (code: string, offsets: readonly number[]) =>
      offsets.map(offset => ({ at: mark + offset, code }));
    // The next day begins with the mark.
    const clicks = [...of('link0', [-5_000, -2, -1, 0, 1]), ...of('link1', [-1, 0])];
    let isDeleted = false;
    const eventful = new EventfulClickHouse(url, async (when, what) => {
      if (when === 'after' || isDeleted || !what.startsWith('INSERT INTO incoming_')) return;
      isDeleted = true;
      await another().forget('link0', mark);
    });
    const batches = partitionOf([...clicks, ...of('link0', [-1, 2])], clicks.length);
    const counting = another(eventful);
    expect((await counting.apply(batches.slice(0, 1))).clicks).toBe(clicks.length);
    const clicksOf = async (code: string) =>
      (await another().total({ kind: 'link', code, ownerId: 'acc_1' })).clicks;
    expect([await clicksOf('link0'), await clicksOf('link1')]).toEqual([2, 2]);
    const scopes = [{ kind: 'link', code: 'link0', ownerId: 'acc_1' }] as const;
    const { breakdowns } = await another().answer({
      scopes,
      from: mark - grainMs.day,
      to: mark + grainMs.day,
      starts: [],
      filters: [],
      breakdowns: [{ dimension: 'country', offset: 0, limit: 9, search: '' }],
    });
    expect(breakdowns).toEqual([{ values: [{ value: 'DE', clicks: 2 }], total: 1 }]);
    await counting.apply(batches.slice(1));
    expect(await clicksOf('link0')).toBe(3);
    expect((await another().total({ kind: 'owner', ownerId: 'acc_1' })).clicks).toBe(9);
  });

  test('without what was deleted on its way, also when its arrival was not confirmed', async () => {
    const world = await openWorld();
    let isReceived = false;
    const deaf = new EventfulClickHouse(world.url, async (when, what) => {
      if (isReceived || !what.startsWith('INSERT INTO incoming_')) return;
      if (when === 'before') return world.warehouse.forget('link0', samplesStart + 9 * grainMs.day);
      isReceived = true;
      throw new Error('no answer');
    });
    const counting = world.another(deaf);
    await expect(counting.apply(first!)).rejects.toThrow('no answer');
    expect((await counting.apply(first!)).clicks).toBe(200);
    expect((await world.another().total({ kind: 'link', code: 'link0', ownerId: 'acc_1' })).clicks).toBe(0);
  });
});
