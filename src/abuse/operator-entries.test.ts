import { expect, test } from 'bun:test';
import { wholeTrail } from '../../test/kit/audit-trail.ts';
import { onEveryRecordEngine, openMemoryRecords } from '../../test/kit/record-engines.ts';
import { createAuditLog } from '../audit/audit-log.ts';
import { systemClock as clock } from '../base/clock.ts';
import { systemRandom as random } from '../base/random.ts';
import type { RecordStore } from '../records/record-store.ts';
import { operatorEntriesConformance } from './operator-entries.conformance.ts';
import { acceptEntry, createOperatorEntries, operatorEntriesMax } from './operator-entries.ts';

const entriesOn = (records: RecordStore) =>
  createOperatorEntries({ records, audit: createAuditLog({ records, random }), clock, random });

onEveryRecordEngine('operator entries', (engine, open) =>
  operatorEntriesConformance(engine, async () => {
    const { store, reopen, dispose } = await open();
    return {
      store: entriesOn(store),
      reopen: async () => entriesOn(await reopen()),
      trail: () => wholeTrail(store),
      dispose,
    };
  }),
);

test('entries beyond the maximum are rejected', async () => {
  const store = entriesOn((await openMemoryRecords()).store);
  const change = { at: 1, actor: { kind: 'system', accountId: null, keyId: null } } as const;
  const add = (index: number) =>
    store.add({ ...acceptEntry(`evil${index}.example`), reason: null, addedAt: 1, addedBy: null }, change);
  for (let index = 0; index < operatorEntriesMax; index += 1) await add(index);
  expect(await add(operatorEntriesMax)).toBe('full');
  expect(await add(0)).toBe('exists');
});
