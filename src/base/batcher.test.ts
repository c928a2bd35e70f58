import { expect, test } from 'bun:test';
import { Batcher } from './batcher.ts';
import { ManualClock, yieldToEventLoop } from './clock.ts';

/** Batches end when the test says so, with each item doubled. */
function batched(
  options: { batchMax?: number; batchesMax?: number; batchMin?: number; waitingMax?: number } = {},
) {
  const clock = new ManualClock();
  const batches: { items: readonly number[]; waitedMs: number; end(): void; fail(): void }[] = [];
  const batcher = new Batcher<number, number>({
    clock,
    run(items, waitedMs) {
      const { promise, resolve, reject } = Promise.withResolvers<number[]>();
      const end = () => resolve(items.map(item => item * 2));
      batches.push({ items, waitedMs, end, fail: () => reject(new Error('down')) });
      return promise;
    },
    batchMax: 3,
    waitingMax: 10,
    full: () => new Error('full'),
    ...options,
  });
  return { clock, batches, batcher };
}

const started = yieldToEventLoop;

test('items of one turn go together, and so do those that come while a batch is in flight', async () => {
  const { batches, batcher } = batched();
  const results = [1, 2].map(item => batcher.add(item));
  expect(batches).toEqual([]);
  await started();
  results.push(...[3, 4, 5, 6].map(item => batcher.add(item)));
  await started();
  expect(batches.map(({ items }) => items)).toEqual([[1, 2]]);
  batches[0]!.end();
  expect(await results[1]).toBe(4);
  batches[1]!.end();
  await results[2];
  batches[2]!.end();
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10, 12]);
  expect(batches.map(({ items }) => items)).toEqual([[1, 2], [3, 4, 5], [6]]);
});

test('a failure rejects the items of its batch and no others', async () => {
  const { batches, batcher } = batched({ batchMax: 1 });
  const [first, second] = [1, 2].map(item => batcher.add(item));
  await started();
  batches[0]!.fail();
  await expect(first).rejects.toThrow('down');
  batches[1]!.end();
  expect(await second).toBe(4);
});

test('a result may come later than those beside it', async () => {
  const late = Promise.withResolvers<number>();
  const batcher = new Batcher<number, number>({
    clock: new ManualClock(),
    run: async items => items.map(item => (item === 1 ? late.promise : item)),
    batchMax: 2,
    waitingMax: 2,
    full: () => new Error('full'),
  });
  const [first, second] = [batcher.add(1), batcher.add(2)];
  expect(await second).toBe(2);
  late.resolve(7);
  expect(await first).toBe(7);
});

test('several batches may be in flight, and a batch knows how long its items have waited', async () => {
  const { clock, batches, batcher } = batched({ batchesMax: 2, batchMax: 1 });
  const results = [1, 2, 3].map(item => batcher.add(item));
  await started();
  expect(batches.length).toBe(2);
  clock.advance(50);
  batches[0]!.end();
  await results[0];
  expect(batches.map(({ items, waitedMs }) => [items, waitedMs])).toEqual([
    [[1], 0],
    [[2], 0],
    [[3], 50],
  ]);
});

test('a few items wait a moment for the batch in flight, many do not', async () => {
  const { clock, batches, batcher } = batched({ batchesMax: 3, batchMin: 2 });
  const results = [batcher.add(1)];
  await started();
  results.push(batcher.add(2));
  await started();
  expect(batches).toHaveLength(1);
  results.push(batcher.add(3));
  await started();
  expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3]]);
  results.push(batcher.add(4));
  await started();
  expect(batches).toHaveLength(2);
  clock.advance(2);
  expect(batches[2]?.items).toEqual([4]);
  for (const { end } of batches) end();
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8]);
});

test('what waits for the batch in flight starts when that ends', async () => {
  const { clock, batches, batcher } = batched({ batchesMax: 3, batchMin: 2 });
  const first = batcher.add(1);
  await started();
  const second = batcher.add(2);
  batches[0]!.end();
  await first;
  expect(batches[1]?.items).toEqual([2]);
  batches[1]!.end();
  expect(await second).toBe(4);
  clock.advance(10);
  expect(batches).toHaveLength(2);
});

test('beyond the bound an item is rejected at once', async () => {
  const { batches, batcher } = batched({ waitingMax: 1 });
  const first = batcher.add(1);
  await expect(batcher.add(2)).rejects.toThrow('full');
  await started();
  const second = batcher.add(3);
  batches[0]!.end();
  expect(await first).toBe(2);
  batches[1]!.end();
  expect(await second).toBe(6);
});

test('a batch has waited as long as its own first item, however long others have been waiting', async () => {
  const { clock, batches, batcher } = batched({ batchMax: 1 });
  const results = [batcher.add(1), batcher.add(2)];
  await started();
  clock.advance(100);
  results.push(batcher.add(3));
  batches[0]!.end();
  await results[0];
  clock.advance(5);
  batches[1]!.end();
  await results[1];
  expect(batches.map(({ waitedMs }) => waitedMs)).toEqual([0, 100, 5]);
  batches[2]!.end();
  expect(await results[2]).toBe(6);
});
