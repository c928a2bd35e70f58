import { beforeAll, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { heavyTestMaxMs, scaled } from '../../../../test/kit/scale.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { samplesStart } from '../../batch-samples.ts';
import {
  allLists,
  link,
  mismatches,
  sampledRange,
  sampledScopes,
  Truth,
} from '../../fake-warehouse-truth.ts';
import { grainMs, type Question } from '../../warehouse.ts';
import {
  EventfulClickHouse,
  openWorld,
  partitionOf,
  sampleClicks,
  type World,
} from './fake-clickhouse-world.ts';
import { generationStatements } from './schema.ts';
import { createClickHouseWarehouse } from './warehouse.ts';

describeWithEngine('clickhouse', 'answers of ClickHouse', () => {
  const clicks = sampleClicks(51, 2_000);
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
    await world.warehouse.apply(partitionOf(clicks, clicks.length));
  });

  const wholeRange = (filters: Question['filters'] = []): Question => ({
    scopes: [{ kind: 'owner', ownerId: 'acc_1' }],
    ...sampledRange,
    starts: [sampledRange.from],
    filters,
    breakdowns: allLists,
  });

  test('say what they were read from', async () => {
    const filters = [{ dimension: 'os', values: ['Linux'], isExcluded: false } as const];
    const sources = [
      await world.warehouse.answer(wholeRange()),
      await world.warehouse.answer(wholeRange(filters)),
    ];
    expect(
      sources.map(({ source, coveredFrom, listsByDayUntil }) => [source, coveredFrom, listsByDayUntil]),
    ).toEqual([
      ['aggregates', 0, 0],
      ['clicks', 0, 0],
    ]);
  });

  test(
    'agree with each other while clicks are being counted',
    async () => {
      const { warehouse, another } = await openWorld();
      const batches = partitionOf(sampleClicks(53, scaled(1_600, 40_000)), 200);
      let isDone = false;
      const counting = (async () => {
        for (const batch of batches) await another().apply([batch]);
        isDone = true;
      })();
      let answers = 0;
      for (; !isDone; answers += 1) {
        const { counts, series, breakdowns } = await warehouse.answer(wholeRange());
        expect(series).toEqual([counts]);
        for (const [index, { values }] of breakdowns.entries()) {
          const listed = values.reduce((sum, each) => sum + each.clicks, 0);
          expect(listed).toBe(allLists[index]!.dimension === 'bot' ? counts.bots : counts.clicks);
        }
      }
      await counting;
      expect(answers).toBeGreaterThan(3);
    },
    heavyTestMaxMs,
  );

  test('wait for a block that has reached only some tables', async () => {
    const { url, clickHouse, another } = await openWorld();
    const block = partitionOf(sampleClicks(54, 200), 200);
    await clickHouse.run('DROP VIEW to_dimensions_0 SYNC');
    const dying = new EventfulClickHouse(url, (when, what) => {
      if (when === 'after' && what.startsWith('INSERT INTO incoming_')) throw new Error('killed');
    });
    await expect(another(dying).apply(block)).rejects.toThrow('killed');
    const { promise: pausing, resolve: pause } = Promise.withResolvers<() => void>();
    const clock: Clock = {
      ...systemClock,
      after(_, task) {
        pause(task);
        return () => {};
      },
    };
    const asking = another(clickHouse, clock).answer(wholeRange());
    const goOn = await pausing;
    for (const statement of generationStatements(0)) await clickHouse.run(statement);
    await another().apply(block);
    goOn();
    const { counts, breakdowns } = await asking;
    expect(counts.clicks).toBeGreaterThan(0);
    const links = breakdowns[allLists.findIndex(({ dimension }) => dimension === 'link')]!;
    expect(links.values.reduce((sum, each) => sum + each.clicks, 0)).toBe(counts.clicks);
  });

  test('under a filter have no clicks that the owner deleted, unless for the owner', async () => {
    const { warehouse } = await openWorld();
    const forgetful = new Truth(clicks);
    await warehouse.apply(partitionOf(clicks, clicks.length));
    const mark = samplesStart + grainMs.day / 2;
    await warehouse.forget('link0', mark);
    forgetful.forget('link0', mark);
    const filters = [{ dimension: 'language', values: ['de', ''], isExcluded: true } as const];
    const questions = sampledScopes.map(scope => ({ ...wholeRange(filters), scopes: [scope] }));
    expect(await mismatches(warehouse, forgetful, questions)).toEqual([]);
  });

  test('under a filter say from when on single clicks are there', async () => {
    const { clickHouse } = await openWorld();
    const warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: 3 });
    const today = Math.floor(systemClock.now() / grainMs.day) * grainMs.day;
    const recent = [0, 1, 2, 3, 4, 5].map(day => ({ at: today - day * grainMs.day, country: 'DE' }));
    await warehouse.apply(partitionOf(recent, recent.length));
    const kept = today - 2 * grainMs.day;
    const ask = (from: number, scope = link('abc')) => {
      const filters = [{ dimension: 'country', values: ['DE'], isExcluded: false } as const];
      const to = today + grainMs.day;
      return warehouse.answer({ scopes: [scope], from, to, starts: [from], filters, breakdowns: [] });
    };
    const early = today - 9 * grainMs.day;
    expect(await ask(early)).toMatchObject({
      coveredFrom: kept,
      counts: { clicks: 3 },
      series: [{ clicks: 3 }],
    });
    expect(await ask(kept)).toMatchObject({ coveredFrom: 0, counts: { clicks: 3 } });
    expect(await ask(early, link('nobody'))).toMatchObject({ coveredFrom: 0, counts: { clicks: 0 } });
    // All of them are gone, for example because they were kept for less long before.
    await clickHouse.run('TRUNCATE TABLE clicks_0');
    expect((await ask(kept)).coveredFrom).toBe(today + grainMs.day);
  });
});
