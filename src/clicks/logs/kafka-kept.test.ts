/** What a real topic still has when its partitions were cut at different times, and that a recount loses nothing. */
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../base/clock.ts';
import { firstTimes } from '../../engines/kafka/offsets.ts';
import { allOffsets } from '../../engines/kafka/topics.ts';
import { ownerOf, questionsAbout } from '../fake-warehouse-truth.ts';
import { recountKafka } from '../open-kafka.ts';
import { partitionOf } from '../partition-numbers.ts';
import { keptFrom, recountLog } from '../replay.ts';
import { createReports } from '../reports.ts';
import type { Scope, Warehouse } from '../warehouse.ts';
import { openSqliteWarehouse } from '../warehouses/sqlite/warehouse.ts';
import { ArchivedTopic, dayMs } from './fake-archived-topic.ts';

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

  const kept = () => ({ ...topic, clock: systemClock });
  const sinceAndFrom = async () => [(await topic.log.retention()).keptSince, await keptFrom(topic.log)];
  const recount = () => recountKafka(warehouse, topic.log);
  const write = async () => {
    for (const day of [0, 1, 2, 3]) await topic.write(first + day * dayMs + noon, 60);
  };
  const counts = async () => [
    await warehouse.total(owner),
    (await warehouse.answer(questionsAbout(owner, { from: first, to: first + 4 * dayMs })[0]!)).series,
  ];

  test('every partition reports when its first message was written, although one broker has them all', async () => {
    await write();
    await topic.forgetBefore(first + dayMs, 1);
    const times = await firstTimes(kept(), await allOffsets(topic.reader, topic.topic, 'earliest'));
    const days = [...times].map(([partition, at]) => [partition, Math.floor((at - first) / dayMs)]);
    expect(Object.fromEntries(days)).toEqual({ 0: 0, 1: 1, 2: 0 });
    // The message at the offset is deleted, and the one after it is reported.
    expect(await firstTimes(kept(), new Map([[1, 0]]))).toEqual(new Map([[1, times.get(1)!]]));
    expect((await firstTimes(kept(), await allOffsets(topic.reader, topic.topic, 'latest'))).size).toBe(0);
  });

  test('it is everything since the first message of the partition that was cut most', async () => {
    expect(await keptFrom(topic.log)).toBeUndefined();
    await write();
    expect(await sinceAndFrom()).toEqual([0, first]);
    await topic.forgetBefore(first + dayMs, 2);
    await topic.forgetBefore(first + 2 * dayMs, 1);
    const since = first + 2 * dayMs + noon;
    expect(await sinceAndFrom()).toEqual([since, since]);
  });

  test('an export from it says from when on it has the clicks of the link, whatever the counts have', async () => {
    await write();
    await recount();
    await topic.forgetBefore(first + dayMs, 1);
    const sources = { log: topic.log, ask: <Answer>(ask: () => Promise<Answer>) => ask() };
    const reports = createReports(
      () => warehouse,
      async () => ({ ...sources, heads: async () => [], settledUntil: async () => 0 }),
    );
    const exported = async (code: string, from = 0) => {
      const link = { code, ownerId: ownerOf(code) };
      const part = await reports.exportPart(
        { ...link, from, to: Number.MAX_SAFE_INTEGER, format: 'ndjson' },
        undefined,
      );
      const times = part.text
        .split('\n')
        .map(line => (line === '' ? Infinity : Date.parse(JSON.parse(line).at)));
      return { coveredFrom: part.coveredFrom, firstDay: Math.floor((Math.min(...times) - first) / dayMs) };
    };
    const linkIn = (partition: number): string =>
      ['link0', 'link1', 'link2', 'link3', 'link4'].find(code => partitionOf(code, 3) === partition)!;
    const kept = first + dayMs + noon;
    expect(await exported(linkIn(1))).toEqual({ coveredFrom: kept, firstDay: 1 });
    expect(await exported(linkIn(1), kept)).toEqual({ coveredFrom: 0, firstDay: 1 });
    expect(await exported(linkIn(0))).toEqual({ coveredFrom: 0, firstDay: 0 });
  });

  test('in a recount, what one partition has lost stays as it was counted', async () => {
    await write();
    await recount();
    const expected = await counts();
    for (const days of [1, 2]) {
      await topic.forgetBefore(first + days * dayMs, 1);
      await recount();
      expect(await counts()).toEqual(expected);
    }
  });

  test('the recount of a complete topic repairs what was lost in the counts', async () => {
    await write();
    await recount();
    const expected = await counts();
    await recountLog(warehouse, {
      log: await emptied(),
      keptFrom: undefined,
      producers: [],
      clock: systemClock,
    });
    expect(await counts()).not.toEqual(expected);
    await recount();
    expect(await counts()).toEqual(expected);
  });

  test('a topic that was recreated is not counted, and the counts stay as they were', async () => {
    await write();
    await recount();
    const expected = await counts();
    await topic.makeAgain();
    await expect(recount()).rejects.toThrow('the topic was recreated');
    expect(await counts()).toEqual(expected);
  });

  /** A log that has the first partition only. */
  async function emptied() {
    const [one] = await topic.log.partitions();
    return { ...topic.log, partitions: async () => [one!] };
  }
});
