import { accountStoreConformance } from '../store.conformance.ts';
import { createMemoryAccountStore } from './memory.ts';

accountStoreConformance('memory', async () => ({
  store: createMemoryAccountStore(),
  dispose: async () => {},
}));
