import { createMemoryStore } from '../../links/stores/memory.ts';
import { moderationConformance } from '../store.conformance.ts';
import { createMemoryModeration } from './memory.ts';

moderationConformance('memory', async () => {
  const { keepTrace, reviews, audit } = createMemoryModeration();
  const links = createMemoryStore(keepTrace);
  return { links, reviews, audit, reopen: async () => ({ links, reviews }), dispose: async () => {} };
});
