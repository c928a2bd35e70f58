import { expect, test } from 'bun:test';
import { ManualClock, systemClock } from '../../base/clock.ts';
import { pendingLifeMs } from '../../config/cache-settings.ts';
import { pendingLinksConformance } from '../pending.conformance.ts';
import { linkQueueConformance } from '../queue.conformance.ts';
import { sampleLink } from '../store-samples.ts';
import { createMemoryPendings, createMemoryQueue } from './fake-memory.ts';

linkQueueConformance('memory', async () => {
  const queue = createMemoryQueue(systemClock);
  return { queue, deadLettered: async () => queue.deadLettered, dispose: () => queue.close() };
});

pendingLinksConformance('memory', async () => {
  const clock = new ManualClock();
  return { pendings: createMemoryPendings(clock), now: clock.now(), dispose: async () => undefined };
});

test('a record that is not removed expires on its own', async () => {
  const clock = new ManualClock();
  const pendings = createMemoryPendings(clock);
  await pendings.put([sampleLink('one', { createdAt: clock.now() })]);
  clock.advance(pendingLifeMs - 1);
  expect(await pendings.find('one')).toBeDefined();
  clock.advance(1);
  expect(await pendings.find('one')).toBeUndefined();
});
