import { beforeEach, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { PendingRestorer } from './pending-restorer.ts';
import { createMemoryPendings, type MemoryPendings } from './pendings/memory.ts';
import { encodeQueuedLink } from './queued-link.ts';
import { createMemoryQueue, type MemoryQueue } from './queues/memory.ts';
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
        if (faults >= 0) throw new Error('away again');
        await pendings.put(links);
      },
    },
    clock,
    onError: () => undefined,
  });
});

async function settle(): Promise<void> {
  for (let step = 0; step < 50; step += 1) {
    await Bun.sleep(0);
    clock.advance(100);
  }
}

/** Long enough for what was being appended at a loss to be there or refused. */
async function settleForLong(): Promise<void> {
  for (let time = 0; time < 3; time += 1) await settle();
}

async function enqueue(count: number): Promise<void> {
  const links = Array.from({ length: count }, (_, n) => sampleLink(`code${n}`, { createdAt: clock.now() }));
  await queue.append(links.map(encodeQueuedLink));
}

test('what is queued at the start is pending from then on: the records may have been lost while nobody was here to notice', async () => {
  await enqueue(10);
  restorer.start();
  await settle();
  expect(pendings.size).toBe(10);
});

test('a link whose record was lost just before it came into the queue is found again, too', async () => {
  restorer.start();
  await settleForLong();
  pendings.lose();
  await settle();
  await enqueue(10);
  await settleForLong();
  expect(pendings.size).toBe(10);
});

test('what is queued and not stored is found again after the records were lost, taken by a drain or not', async () => {
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

test('it is tried until it works', async () => {
  restorer.start();
  await enqueue(10);
  faults = 3;
  pendings.lose();
  await settle();
  expect(pendings.size).toBe(10);
});

test('a loss in the middle of it is made good, too', async () => {
  restorer.start();
  await enqueue(600);
  pendings.lose();
  await Bun.sleep(0);
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
