import type { AuditRecord } from '../../base/audit-entry.ts';
import { accountStoreConformance } from '../store.conformance.ts';
import { createMemoryAccountStore } from './memory.ts';

accountStoreConformance('memory', async () => {
  const trail: AuditRecord[] = [];
  const store = createMemoryAccountStore(record => trail.push(record));
  return {
    store,
    reopen: async () => store,
    trail: async () => trail,
    dispose: async () => {},
  };
});
