import { expect, test } from 'bun:test';
import type { AuditRecord } from '../../base/audit-entry.ts';
import { operatorEntriesConformance } from '../operator-entries.conformance.ts';
import { acceptEntry, operatorEntriesMax } from '../operator-entries.ts';
import { createMemoryEntryStore } from './memory.ts';

operatorEntriesConformance('memory', async () => {
  const trail: AuditRecord[] = [];
  const store = createMemoryEntryStore(record => trail.push(record));
  return { store, reopen: async () => store, trail: async () => trail, dispose: async () => {} };
});

test('entries beyond the most that are kept are refused', async () => {
  const store = createMemoryEntryStore(() => undefined);
  const change = { at: 1, actor: { kind: 'system', accountId: null, keyId: null } } as const;
  const add = (index: number) =>
    store.add({ ...acceptEntry(`evil${index}.example`), reason: null, addedAt: 1, addedBy: null }, change);
  for (let index = 0; index < operatorEntriesMax; index += 1) await add(index);
  expect(await add(operatorEntriesMax)).toBe('full');
  expect(await add(0)).toBe('exists');
});
