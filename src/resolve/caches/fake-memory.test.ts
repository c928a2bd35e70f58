import { ManualClock } from '../../base/clock.ts';
import { linkCacheConformance } from '../cache.conformance.ts';
import { createMemoryCache, MemoryCacheContents } from './fake-memory.ts';

linkCacheConformance('memory', async () => {
  const clock = new ManualClock();
  const contents = new MemoryCacheContents();
  const cache = createMemoryCache({ clock, contents });
  return {
    cache,
    brief: cache,
    other: createMemoryCache({ clock, contents }),
    waitForFences: async () => clock.advance(10_000),
    untilListening: async () => {},
    untilReceived: async () => {},
    dispose: async () => {},
  };
});
