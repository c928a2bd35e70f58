import { expect, test } from 'bun:test';
import { Batcher } from './batcher.ts';
import { ManualClock, yieldToEventLoop } from './clock.ts';

/** Batches end when the test says so, with each item doubled. */
function batched(options: { batchMax?: number; batchesMax?: number; waitingMax?: number } = {}) {
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

test('the first item goes at once, those that come meanwhile go together', async () => {
  const { batches, batcher } = batched();
  const results = [1, 2, 3, 4, 5].map(item => batcher.add(item));
  expect(batches.map(({ items }) => items)).toEqual([[1]]);
  batches[0]!.end();
  expect(await results[0]).toBe(2);
  await yieldToEventLoop();
  batches[1]!.end();
  await results[1];
  await yieldToEventLoop();
  batches[2]!.end();
  expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10]);
  expect(batches.map(({ items }) => items)).toEqual([[1], [2, 3, 4], [5]]);
});

test('a failure is that of its batch, and of no other', async () => {
  const { batches, batcher } = batched();
  const [first, ...others] = [1, 2, 3].map(item => batcher.add(item));
  batches[0]!.fail();
  await expect(first).rejects.toThrow('down');
  await yieldToEventLoop();
  batches[1]!.end();
  expect(await Promise.all(others)).toEqual([4, 6]);
});

test('several batches may be in flight, and a batch knows how long its items have waited', async () => {
  const { clock, batches, batcher } = batched({ batchesMax: 2 });
  const results = [1, 2, 3].map(item => batcher.add(item));
  expect(batches.length).toBe(2);
  clock.advance(50);
  batches[0]!.end();
  await results[0];
  await yieldToEventLoop();
  expect(batches.map(({ items, waitedMs }) => [items, waitedMs])).toEqual([
    [[1], 0],
    [[2], 0],
    [[3], 50],
  ]);
});

test('beyond the bound an item is rejected at once', async () => {
  const { batches, batcher } = batched({ waitingMax: 1 });
  const results = [1, 2].map(item => batcher.add(item));
  await expect(batcher.add(3)).rejects.toThrow('full');
  batches[0]!.end();
  await results[0];
  await yieldToEventLoop();
  batches[1]!.end();
  expect(await results[1]).toBe(4);
});
