import { createMemoryStore } from '../../links/stores/memory.ts';
import { moderationConformance } from '../store.conformance.ts';
import { createMemoryModeration } from './memory.ts';

moderationConformance('memory', async () => {
  const { keepTrace, reviews, audit } = createMemoryModeration();
  return { links: createMemoryStore(keepTrace), reviews, audit, dispose: async () => {} };
});
