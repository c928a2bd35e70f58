/** Operator entries in memory, for tests and for trying Terse out. */
import type { AuditRecord } from '../../base/audit-entry.ts';
import {
  entryRecord,
  type OperatorEntry,
  type OperatorEntryStore,
  operatorEntriesMax,
} from '../operator-entries.ts';

/** `keepRecord` takes the place of a shared transaction. */
export function createMemoryEntryStore(keepRecord: (record: AuditRecord) => void): OperatorEntryStore {
  const entries = new Map<string, OperatorEntry>();
  let revision = 0;
  return {
    revision: async () => revision,
    list: async () => [...entries.values()],
    async add(entry, change) {
      if (entries.has(entry.id)) return 'exists';
      if (entries.size >= operatorEntriesMax) return 'full';
      entries.set(entry.id, entry);
      revision += 1;
      keepRecord(entryRecord('added', entry, change));
      return 'added';
    },
    async remove(id, change) {
      const entry = entries.get(id);
      if (entry === undefined) return false;
      entries.delete(id);
      revision += 1;
      keepRecord(entryRecord('removed', entry, change));
      return true;
    },
  };
}
