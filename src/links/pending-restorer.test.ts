import { beforeEach, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { PendingRestorer } from './pending-restorer.ts';
import { encodeQueuedLink } from './queued-link.ts';
import {
  createMemoryPendings,
  createMemoryQueue,
  type MemoryPendings,
  type MemoryQueue,
} from './queues/fake-memory.ts';
import { sampleLink } from './store-samples.ts';

let clock: ManualClock;
let queue: MemoryQueue;
let pendings: MemoryPendings;
let faults: number;
let restorer: PendingRestorer;

beforeEach(() => {
  clock = new ManualClock();
  queue = createMemoryQueue(clock);
  pendings = createMemoryPendings(clock);
  faults = 0;
  restorer = new PendingRestorer({
    queue,
    pendings: {
      ...pendings,
      async put(links) {
        faults -= 1;
        if (faults >= 0) throw new Error('down again');
        await pendings.put(links);
      },
    },
    clock,
    onError: () => undefined,
  });
});

async function settle(): Promise<void> {
  for (let step = 0; step < 50; step += 1) {
    await yieldToEventLoop();
    clock.advance(100);
  }
}

/** Long enough for links that were being appended during a loss to be queued or rejected. */
async function settleForLong(): Promise<void> {
  for (let time = 0; time < 3; time += 1) await settle();
}

async function enqueue(count: number): Promise<void> {
  const links = Array.from({ length: count }, (_, n) => sampleLink(`code${n}`, { createdAt: clock.now() }));
  await queue.append(links.map(encodeQueuedLink));
}

test('queued links are pending from the start on: records may have been lost while no process ran', async () => {
  await enqueue(10);
  restorer.start();
  await settle();
  expect(pendings.size).toBe(10);
});

test('a link whose record was lost just before it was queued is found again, too', async () => {
  restorer.start();
  await settleForLong();
  pendings.lose();
  await settle();
  await enqueue(10);
  await settleForLong();
  expect(pendings.size).toBe(10);
});

test('queued links are found again after the records were lost, taken by a drain or not', async () => {
  restorer.start();
  await enqueue(1_200);
  const consumer = queue.consume();
  await consumer.take(100, 0);
  await consumer.finish();
  await consumer.take(100, 0);
  await queue.append(['nonsense']);
  pendings.lose();
  await settle();
  expect(pendings.size).toBe(1_100);
  expect(await pendings.find('code99')).toBeUndefined();
  expect(await pendings.find('code100')).toBeDefined();
  expect(restorer.restored).toBe(1_100);
});

test('it is retried until it succeeds', async () => {
  restorer.start();
  await enqueue(10);
  faults = 3;
  pendings.lose();
  await settle();
  expect(pendings.size).toBe(10);
});

test('a loss during a run is repaired, too', async () => {
  restorer.start();
  await enqueue(600);
  pendings.lose();
  await yieldToEventLoop();
  pendings.lose();
  await settle();
  expect(pendings.size).toBe(600);
});

test('after the stop nothing is written', async () => {
  restorer.start();
  await enqueue(10);
  await restorer.stop();
  pendings.lose();
  await settleForLong();
  expect(pendings.size).toBe(0);
});
