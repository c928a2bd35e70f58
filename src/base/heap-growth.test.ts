import { expect, test } from 'bun:test';
import { HeapGrowth } from './heap-growth.ts';

const mb = 1024 * 1024;

/** A heap of which so much is in use, and the rest garbage. */
function fakeHeap(usedMb: number) {
  const heap = { usedMb, totalMb: usedMb, collections: 0 };
  const growth = new HeapGrowth({
    size: () => heap.totalMb * mb,
    collect() {
      heap.collections += 1;
      heap.totalMb = heap.usedMb;
    },
  });
  return { heap, growth };
}

test('a heap is collected once it has grown by 24 MiB, and then again', () => {
  const { heap, growth } = fakeHeap(20);
  heap.totalMb = 43;
  growth.bound();
  expect(heap.collections).toBe(0);
  heap.totalMb = 44;
  growth.bound();
  expect([heap.collections, heap.totalMb]).toEqual([1, 20]);
  growth.bound();
  expect(heap.collections).toBe(1);
  heap.totalMb = 44;
  growth.bound();
  expect(heap.collections).toBe(2);
});

test('a heap of which much is in use may grow by half of that', () => {
  const { heap, growth } = fakeHeap(200);
  heap.totalMb = 299;
  growth.bound();
  expect(heap.collections).toBe(0);
  heap.totalMb = 300;
  growth.bound();
  expect(heap.collections).toBe(1);
});

test('growth counts from what the runtime itself left after a collection', () => {
  const { heap, growth } = fakeHeap(100);
  heap.totalMb = 20;
  growth.bound();
  heap.totalMb = 44;
  heap.usedMb = 20;
  growth.bound();
  expect(heap.collections).toBe(1);
});
