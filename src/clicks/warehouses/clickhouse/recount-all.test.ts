import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { ManualClock } from '../../../base/clock.ts';
import { samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { grainMs, type Warehouse } from '../../warehouse.ts';
import {
  EventfulClickHouse,
  everythingIn,
  openWorld,
  partitionOf,
  sampleClicks,
} from './fake-clickhouse-world.ts';

async function* inChunks(batches: readonly LogBatch[]) {
  for (const batch of batches) yield [batch];
}

describeWithEngine('clickhouse', 'rebuilds in ClickHouse', () => {
  const everything = { countFrom: 0, producers: ['host/0'] };

  test('when it is unknown whether the new tables are active, they are there in case they are', async () => {
    const { warehouse, another, url } = await openWorld();
    const batches = partitionOf(sampleClicks(31, 300), 100);
    await warehouse.apply(batches.slice(0, 2));
    const expected = await everythingIn(warehouse);
    const deaf = new EventfulClickHouse(url, (when, what) => {
      if (when === 'after' && what.startsWith('INSERT INTO generations ')) throw new Error('no answer');
    });
    const rebuilt = another(deaf).recountAll(everything, inChunks(batches.slice(0, 2)));
    await expect(rebuilt).rejects.toThrow('no answer');
    expect(await everythingIn(another())).toEqual(expected);
    expect((await another().apply(batches.slice(2))).clicks).toBe(100);
  });

  test('is active also when the server’s clock was set back since the last time', async () => {
    const { warehouse, another, clickHouse } = await openWorld();
    const batches = partitionOf(sampleClicks(32, 300), 100);
    await warehouse.apply(batches.slice(0, 1));
    await clickHouse.run('INSERT INTO generations (generation, at) SELECT 0, now64(3) + toIntervalDay(1)');
    await warehouse.recountAll(everything, inChunks(batches.slice(0, 2)));
    expect((await another().apply(batches.slice(2))).clicks).toBe(100);
    await warehouse.recountAll(everything, inChunks(batches));
    const calm = await openWorld();
    await calm.warehouse.apply(batches);
    expect(await everythingIn(another())).toEqual(await everythingIn(calm.warehouse));
  });

  const link0 = { kind: 'link', code: 'link0', ownerId: 'acc_1' } as const;
  const afterAll = samplesStart + 9 * grainMs.day;

  test('what is deleted during the recount stays deleted', async () => {
    const { warehouse, another } = await openWorld();
    const batches = partitionOf(sampleClicks(33, 300), 100);
    async function* meanwhile() {
      yield batches.slice(0, 1);
      await another().forget('link0', afterAll);
      yield batches.slice(1);
    }
    await warehouse.recountAll(everything, meanwhile());
    expect((await another().total(link0)).clicks).toBe(0);
    expect((await another().total({ kind: 'link', code: 'link1', ownerId: 'acc_2' })).clicks).toBeGreaterThan(
      0,
    );
  });

  test('what is deleted while older numbers are taken over stays deleted', async () => {
    const { warehouse, another, url } = await openWorld();
    const batches = partitionOf(sampleClicks(34, 300), 100);
    await warehouse.apply(batches);
    const eventful = new EventfulClickHouse(url, async (when, what) => {
      if (when === 'after' && /^INSERT INTO quarters_\d+ SELECT/.test(what))
        await another().forget('link0', afterAll);
    });
    await another(eventful).recountAll({ ...everything, countFrom: afterAll }, inChunks(batches));
    expect((await another().total(link0)).clicks).toBe(0);
    expect((await another().total({ kind: 'link', code: 'link1', ownerId: 'acc_2' })).clicks).toBeGreaterThan(
      0,
    );
  });

  test('what is deleted just before the new tables are active stays deleted', async () => {
    const { warehouse, another, url } = await openWorld();
    const batches = partitionOf(sampleClicks(35, 300), 100);
    await warehouse.apply(batches);
    const eventful = new EventfulClickHouse(url, async (when, what) => {
      if (when === 'before' && what.startsWith('INSERT INTO generations '))
        await another().forget('link0', afterAll);
    });
    await another(eventful).recountAll(everything, inChunks(batches));
    expect((await another().total(link0)).clicks).toBe(0);
  });

  test('a process that does not know of the new tables yet deletes from them all the same', async () => {
    const { warehouse, another, clickHouse, url } = await openWorld();
    const batches = partitionOf(sampleClicks(36, 300), 100);
    await warehouse.apply(batches);
    // No time passes for it, and the old tables stay where they were.
    const other = another(clickHouse, new ManualClock());
    await other.total(link0);
    const clinging = new EventfulClickHouse(url, (_when, what) => {
      if (what.startsWith('DROP')) throw new Error('somebody holds on to it');
    });
    await another(clinging).recountAll(everything, inChunks(batches));
    await other.forget('link0', afterAll);
    expect((await another().total(link0)).clicks).toBe(0);
  });

  test('a deletion removes nothing of what is read after it and happened after it', async () => {
    const { warehouse, another } = await openWorld();
    const clicks = [0, 1, 2, 3].map(minute => ({
      at: samplesStart + minute * grainMs.minute,
      code: 'link0',
    }));
    const batches = partitionOf(clicks, 2);
    async function* meanwhile() {
      yield batches.slice(0, 1);
      await another().forget('link0', samplesStart + 2 * grainMs.minute);
      yield batches.slice(1);
    }
    await warehouse.recountAll(everything, meanwhile());
    expect((await another().total(link0)).clicks).toBe(2);
  });

  const startsOf = async ({ producers }: Pick<Warehouse, 'producers'>) =>
    (await producers()).map(({ producer, sequence }) => `${producer} ${sequence}`).sort();

  test('a producer that is counted for the first time meanwhile is recounted with the others', async () => {
    const { warehouse, another, url } = await openWorld();
    const batches = partitionOf(sampleClicks(37, 200), 100);
    const fromNew = partitionOf(sampleClicks(38, 100), 100, 'clicks/1').map(batch => ({
      ...batch,
      producer: 'new/1',
    }));
    await warehouse.apply(batches);
    let isCounted = false;
    const eventful = new EventfulClickHouse(url, async (when, what) => {
      if (when === 'after' || isCounted || !/^INSERT INTO \w+ SELECT/.test(what)) return;
      isCounted = true;
      await another().apply(fromNew);
    });
    const plan = { countFrom: samplesStart - grainMs.day, producers: ['host/0'] };
    const result = await another(eventful).recountAll(plan, inChunks([...batches, ...fromNew]));
    expect(isCounted).toBe(true);
    expect(result).toEqual({ clicks: 300, duplicates: 0 });
    expect(await startsOf(another())).toEqual(['host/0 200', 'new/1 100']);
  });

  test('a producer without anything left to read keeps the number that it had', async () => {
    const { warehouse, another } = await openWorld();
    const batches = partitionOf(sampleClicks(39, 300), 100);
    await warehouse.apply(batches.slice(0, 1));
    async function* meanwhile() {
      // It lies behind the end that was read to, so that it is counted once the new tables are active.
      await another().apply(batches.slice(1));
      yield [{ ...batches[0]!, producer: 'other/0' }];
    }
    await warehouse.recountAll({ ...everything, countFrom: afterAll }, meanwhile());
    expect(await startsOf(another())).toEqual(['host/0 100', 'other/0 100']);
    expect(await another().apply(batches.slice(1))).toEqual({ clicks: 200, duplicates: 0 });
  });
});
