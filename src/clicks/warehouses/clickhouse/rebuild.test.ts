import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import type { StreamBatch } from '../../stream.ts';
import { everythingIn, openWorld, partitionOf, sampleClicks } from './fake-clickhouse-world.ts';
import { EventfulClickHouse } from './fake-eventful-clickhouse.ts';

async function* inChunks(batches: readonly StreamBatch[]) {
  for (const batch of batches) yield [batch];
}

describeWithEngine('clickhouse', 'rebuilds in ClickHouse', () => {
  const everything = { countFrom: 0, producers: ['host/0'] };

  test('when nobody knows whether the new tables are in force, they are there in case they are', async () => {
    const { warehouse, another, url } = await openWorld();
    const batches = partitionOf(sampleClicks(31, 300), 100);
    await warehouse.apply(batches.slice(0, 2));
    const expected = await everythingIn(warehouse);
    const deaf = new EventfulClickHouse(url, (when, what) => {
      if (when === 'after' && what.startsWith('INSERT INTO generations ')) throw new Error('no answer');
    });
    const rebuilt = another(deaf).rebuild(everything, inChunks(batches.slice(0, 2)));
    await expect(rebuilt).rejects.toThrow('no answer');
    expect(await everythingIn(another())).toEqual(expected);
    expect((await another().apply(batches.slice(2))).clicks).toBe(100);
  });

  test('is in force also when the server’s clock was set back since the last time', async () => {
    const { warehouse, another, clickHouse } = await openWorld();
    const batches = partitionOf(sampleClicks(32, 300), 100);
    await warehouse.apply(batches.slice(0, 1));
    await clickHouse.run('INSERT INTO generations (generation, at) SELECT 0, now64(3) + toIntervalDay(1)');
    await warehouse.rebuild(everything, inChunks(batches.slice(0, 2)));
    expect((await another().apply(batches.slice(2))).clicks).toBe(100);
    await warehouse.rebuild(everything, inChunks(batches));
    const calm = await openWorld();
    await calm.warehouse.apply(batches);
    expect(await everythingIn(another())).toEqual(await everythingIn(calm.warehouse));
  });
});
