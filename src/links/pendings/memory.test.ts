import { expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { pendingLinksConformance } from '../pending.conformance.ts';
import { pendingLifeMs } from '../pending.ts';
import { sampleLink } from '../store-samples.ts';
import { createMemoryPendings } from './memory.ts';

pendingLinksConformance('memory', async () => {
  const clock = new ManualClock();
  return { pendings: createMemoryPendings(clock), now: clock.now(), dispose: async () => undefined };
});

test('a record that nobody removes ends by itself', async () => {
  const clock = new ManualClock();
  const pendings = createMemoryPendings(clock);
  await pendings.put([sampleLink('one', { createdAt: clock.now() })]);
  clock.advance(pendingLifeMs - 1);
  expect(await pendings.find('one')).toBeDefined();
  clock.advance(1);
  expect(await pendings.find('one')).toBeUndefined();
});
