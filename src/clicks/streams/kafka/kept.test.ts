/** What a real topic still has when its partitions were cut at different times, and that counting it anew loses nothing. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../../base/clock.ts';
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import { firstTimes } from '../../../engines/kafka/first-times.ts';
import { rebuildFrom } from '../../rebuild.ts';
import type { Scope, Warehouse } from '../../warehouse.ts';
import { openSqliteWarehouse } from '../../warehouses/sqlite/warehouse.ts';
import { ArchivedTopic, dayMs } from './fake-archived-topic.ts';
import { keptFrom, keptSince } from './kept.ts';
import { rebuildFromKafka } from './rebuild.ts';

/** Recent enough for Kafka to keep it by itself. */
const first = Math.floor(Date.now() / dayMs) * dayMs - 4 * dayMs;
const noon = dayMs / 2;
const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };

describeWithEngine('kafka', 'what a topic keeps', () => {
  let topic: ArchivedTopic;
  let warehouse: Warehouse;
  beforeEach(async () => {
    topic = await ArchivedTopic.make();
    warehouse = openSqliteWarehouse(':memory:');
  });
  afterEach(async () => {
    await warehouse.close();
    await topic.close();
  });

  const kept = () => ({ ...topic, retentionMs: 7 * dayMs, clock: systemClock });
  const write = async () => {
    for (const day of [0, 1, 2, 3]) await topic.write(first + day * dayMs + noon, 60);
  };
  const counts = async () => [
    await warehouse.total(owner),
    await warehouse.series(owner, 'day', first, first + 4 * dayMs),
  ];

  test('every partition tells when its first message was written, although one broker has them all', async () => {
    await write();
    await topic.forgetBefore(first + dayMs, 1);
    const times = await firstTimes(kept(), await allOffsets(topic.reader, topic.topic, 'earliest'));
    const days = [...times].map(([partition, at]) => [partition, Math.floor((at - first) / dayMs)]);
    expect(Object.fromEntries(days)).toEqual({ 0: 0, 1: 1, 2: 0 });
    // What lay at the offset is gone, and what comes after it is told.
    expect(await firstTimes(kept(), new Map([[1, 0]]))).toEqual(new Map([[1, times.get(1)!]]));
    expect((await firstTimes(kept(), await allOffsets(topic.reader, topic.topic, 'latest'))).size).toBe(0);
  });

  test('it is everything since the first message of the partition that was cut most', async () => {
    expect(await keptFrom(kept())).toBeUndefined();
    await write();
    expect([await keptSince(kept()), await keptFrom(kept())]).toEqual([0, first]);
    await topic.forgetBefore(first + dayMs, 2);
    await topic.forgetBefore(first + 2 * dayMs, 1);
    const since = first + 2 * dayMs + noon;
    expect([await keptSince(kept()), await keptFrom(kept())]).toEqual([since, since]);
  });

  test('counted anew, what one partition has lost stays as it was counted', async () => {
    await write();
    await rebuildFromKafka(warehouse, kept());
    const expected = await counts();
    for (const days of [1, 2]) {
      await topic.forgetBefore(first + days * dayMs, 1);
      await rebuildFromKafka(warehouse, kept());
      expect(await counts()).toEqual(expected);
    }
  });

  test('counted anew, a topic that is whole repairs what was lost in the counts', async () => {
    await write();
    await rebuildFromKafka(warehouse, kept());
    const expected = await counts();
    await rebuildFrom(warehouse, { source: await emptied(), keptFrom: undefined, producers: [] });
    expect(await counts()).not.toEqual(expected);
    await rebuildFromKafka(warehouse, kept());
    expect(await counts()).toEqual(expected);
  });

  test('a topic that was made anew is not counted, and the counts stay as they were', async () => {
    await write();
    await rebuildFromKafka(warehouse, kept());
    const expected = await counts();
    await topic.makeAnew();
    await expect(rebuildFromKafka(warehouse, kept())).rejects.toThrow('the topic was made anew');
    expect(await counts()).toEqual(expected);
  });

  /** A source that has the first partition only. */
  async function emptied() {
    const [one] = await topic.source.behind(new Map());
    return { ...topic.source, behind: async () => [one!] };
  }
});
