import { expect, test } from 'bun:test';
import { sampleBatch, samplesStart } from './batch-samples.ts';
import { rebuildFrom } from './rebuild.ts';
import type { ClickSource, StreamBatch } from './stream.ts';
import { grainMs } from './warehouse.ts';
import { openSqliteWarehouse } from './warehouses/sqlite/warehouse.ts';

const scope = { kind: 'link', code: 'abc' } as const;
const day = Math.floor(samplesStart / grainMs.day) * grainMs.day;
const noon = day + grainMs.day / 2;

const clicksAt = (firstSequence: number, times: readonly number[], from: number): StreamBatch => ({
  partition: 'clicks/0',
  from,
  to: from + 1,
  producer: 'one',
  batch: sampleBatch(
    firstSequence,
    times.map(at => ({ at, code: scope.code })),
  ),
});

/** Of one partition, which gives a batch at a time. */
const sourceOf = (batches: readonly StreamBatch[]): ClickSource => ({
  behind: async () => (batches.length === 0 ? [] : [{ name: 'clicks/0' }]),
  read: async (_partition, position) => batches.filter(({ to }) => to > position).slice(0, 1),
  close: async () => {},
});

const morning = clicksAt(1, [noon - 2, noon - 1], 0);
const evening = clicksAt(3, [noon], 1);
const nextDay = clicksAt(4, [day + grainMs.day], 2);

async function counted(batches: readonly StreamBatch[]) {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply(batches);
  const rebuilt = async (kept: readonly StreamBatch[], keptFrom: number | undefined) => {
    await rebuildFrom(warehouse, { source: sourceOf(kept), keptFrom, producers: ['one'] });
    return (await warehouse.total(scope)).clicks;
  };
  return { warehouse, rebuilt };
}

test('a stream that has nothing leaves everything as it was counted', async () => {
  const { warehouse, rebuilt } = await counted([morning, evening]);
  expect(await rebuilt([], undefined)).toBe(3);
  expect(await warehouse.positions()).toEqual(new Map([['clicks/0', 2]]));
});

test('a stream that has everything is counted anew from its first click on', async () => {
  const { rebuilt } = await counted([morning, evening, nextDay]);
  expect(await rebuilt([morning, evening, nextDay], day)).toBe(4);
});

test('a day of which the stream has only a part stays as it was counted, and the next is counted anew', async () => {
  const { rebuilt } = await counted([morning, evening]);
  const left = { ...evening, from: 0 };
  expect(await rebuilt([left, nextDay], noon)).toBe(4);
});
