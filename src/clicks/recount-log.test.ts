import { expect, test } from 'bun:test';
import { systemClock } from '../base/clock.ts';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import type { ClickLog, LogBatch } from './log.ts';
import { recountLog } from './replay.ts';
import { grainMs } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const scope = { kind: 'link', code: 'abc', ownerId: 'acc_1' } as const;
const day = Math.floor(samplesStart / grainMs.day) * grainMs.day;
const noon = day + grainMs.day / 2;

const clicksAt = (firstSequence: number, times: readonly number[], from: number): LogBatch => ({
  partition: 'clicks/0',
  from,
  to: from + 1,
  producer: 'one',
  batch: sampleBatch(
    firstSequence,
    times.map(at => ({ at, code: scope.code })),
  ),
});

/** A log with one partition, which returns a batch at a time. */
const logOf = (batches: readonly LogBatch[]): Pick<ClickLog, 'partitions' | 'read' | 'isOwn'> => ({
  isOwn: () => true,
  partitions: async () => (batches.length === 0 ? [] : [{ name: 'clicks/0', end: batches.at(-1)!.to }]),
  async read(offsets) {
    const offset = offsets.get('clicks/0')!;
    const items = batches
      .filter(({ to }) => to > offset)
      .slice(0, 1)
      .map(({ from, producer, batch }) => ({ offset: from, storedAt: 0, producer, batch }));
    return new Map([['clicks/0', { items, to: offset + items.length, end: batches.length }]]);
  },
});

const morning = clicksAt(1, [noon - 2, noon - 1], 0);
const evening = clicksAt(3, [noon], 1);
const nextDay = clicksAt(4, [day + grainMs.day], 2);

async function counted(batches: readonly LogBatch[]) {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply(batches);
  const rebuilt = async (kept: readonly LogBatch[], keptFrom: number | undefined) => {
    await recountLog(warehouse, { log: logOf(kept), keptFrom, producers: ['one'], clock: systemClock });
    return (await warehouse.total(scope)).clicks;
  };
  return { warehouse, rebuilt };
}

test('an empty stream leaves all counts unchanged', async () => {
  const { warehouse, rebuilt } = await counted([morning, evening]);
  expect(await rebuilt([], undefined)).toBe(3);
  expect(await warehouse.positions()).toEqual(new Map([['clicks/0', 2]]));
});

test('a stream that has everything is recounted from its first click on', async () => {
  const { rebuilt } = await counted([morning, evening, nextDay]);
  expect(await rebuilt([morning, evening, nextDay], day)).toBe(4);
});

test('a day of which the stream has only a part stays as it was counted, and the next is recounted', async () => {
  const { rebuilt } = await counted([morning, evening]);
  const left = { ...evening, from: 0 };
  expect(await rebuilt([left, nextDay], noon)).toBe(4);
});
