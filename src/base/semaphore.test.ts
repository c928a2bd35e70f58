import { expect, test } from 'bun:test';
import { Semaphore, untilAborted } from './semaphore.ts';

const full = () => new Error('full');
const late = () => new Error('late');

/** Work that ends when the test says so. */
function open() {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { work: () => promise, end: resolve };
}

test('no more tasks run at once than there are slots, and the rest in the order of their arrival', async () => {
  const semaphore = new Semaphore({ slots: () => 2, waitingMax: 10, full });
  const tasks = Array.from({ length: 4 }, open);
  const started: number[] = [];
  const results = tasks.map((task, index) =>
    semaphore.run(async () => {
      started.push(index);
      await task.work();
    }),
  );
  expect([started, semaphore.inUse, semaphore.waiting]).toEqual([[0, 1], 2, 2]);
  tasks[1]!.end();
  await results[1];
  expect(started).toEqual([0, 1, 2]);
  for (const task of tasks) task.end();
  await Promise.all(results);
  expect([started, semaphore.inUse, semaphore.waiting]).toEqual([[0, 1, 2, 3], 0, 0]);
});

test('a failure frees its slot', async () => {
  const semaphore = new Semaphore({ slots: () => 1, waitingMax: 1, full });
  await expect(semaphore.run(() => Promise.reject(new Error('its own')))).rejects.toThrow('its own');
  expect(await semaphore.run(async () => 'free')).toBe('free');
});

test('work beyond the bound of the queue is rejected at once', async () => {
  const semaphore = new Semaphore({ slots: () => 1, waitingMax: 1, full });
  const first = open();
  const running = semaphore.run(first.work);
  const waiting = semaphore.run(async () => 'second');
  await expect(semaphore.run(async () => 'third')).rejects.toThrow('full');
  first.end();
  await running;
  expect(await waiting).toBe('second');
});

test('work whose signal aborts while it waits leaves the queue', async () => {
  const semaphore = new Semaphore({ slots: () => 1, waitingMax: 1, full });
  const first = open();
  const running = semaphore.run(first.work);
  const abort = new AbortController();
  const waiting = semaphore.run(async () => 'never', untilAborted(abort.signal, late));
  abort.abort();
  await expect(waiting).rejects.toThrow('late');
  expect(semaphore.waiting).toBe(0);
  first.end();
  await running;
  expect(semaphore.inUse).toBe(0);
});
