import { systemClock } from '../../base/clock.ts';
import { linkQueueConformance } from '../queue.conformance.ts';
import { createMemoryQueue } from './memory.ts';

linkQueueConformance('memory', async () => {
  const queue = createMemoryQueue(systemClock);
  return { queue, buried: async () => queue.buried, dispose: () => queue.close() };
});
