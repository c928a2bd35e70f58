import { linkStoreConformance } from '../store.conformance.ts';
import { createMemoryStore } from './memory.ts';

linkStoreConformance('memory', async () => ({ store: createMemoryStore(), dispose: async () => {} }));
