import { expect, test } from 'bun:test';
import { sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { StreamBatch } from '../../stream.ts';
import { openSqliteWarehouse } from './warehouse.ts';

const link = { kind: 'link', code: 'abc' } as const;
const batchOf = (producer: string): StreamBatch => ({
  partition: producer,
  from: 0,
  to: 2,
  producer,
  batch: sampleBatch(1, [{ at: samplesStart }, { at: samplesStart + 1 }]),
});
async function* inChunks(...batches: StreamBatch[]) {
  for (const batch of batches) yield [batch];
}

test('a producer that nobody knew of when the rebuild was planned is counted anew with the others', async () => {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply([batchOf('old'), batchOf('new')]);
  const replay = inChunks(batchOf('old'), batchOf('new'));
  const result = await warehouse.rebuild({ countFrom: 0, producers: ['old'] }, replay);
  expect(result).toEqual({ clicks: 4, duplicates: 0 });
  expect((await warehouse.total(link)).clicks).toBe(4);
});

test('a producer of whom there is nothing to read any more keeps the number that it had', async () => {
  const warehouse = openSqliteWarehouse(':memory:');
  await warehouse.apply([batchOf('dead'), batchOf('live')]);
  const plan = { countFrom: samplesStart + 1, producers: ['dead', 'live'] };
  await warehouse.rebuild(plan, inChunks(batchOf('live')));
  expect((await warehouse.producers()).map(({ producer }) => producer).sort()).toEqual(['dead', 'live']);
});
