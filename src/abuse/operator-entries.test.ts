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

test('an entry of more bytes than engines index is rejected', () => {
  expect(acceptEntry(`https://evil.example/${'語'.repeat(200)}`).entry.length).toBeGreaterThan(1_800);
  expect(() => acceptEntry(`https://evil.example/${'語'.repeat(250)}`)).toThrow('2048 bytes');
});

test('a list that shows a part of a change is read again', async () => {
  const { store: records } = await openMemoryRecords();
  const change = { at: 1, actor: { kind: 'system', accountId: null, keyId: null } } as const;
  for (const name of ['one', 'two'])
    await entriesOn(records).add(
      { ...acceptEntry(`${name}.example`), reason: null, addedAt: 1, addedBy: null },
      change,
    );
  let queries = 0;
  const partial: RecordStore = {
    ...records,
    async query(kind, index, range, page) {
      queries += 1;
      const found = await records.query(kind, index, range, page);
      return queries < 3 ? { ...found, records: found.records.slice(1) } : found;
    },
  };
  expect((await entriesOn(partial).list()).map(({ entry }) => entry)).toEqual(['one.example', 'two.example']);
});

test('entries beyond the maximum are rejected', async () => {
  const store = entriesOn((await openMemoryRecords()).store);
  const change = { at: 1, actor: { kind: 'system', accountId: null, keyId: null } } as const;
  const add = (index: number) =>
    store.add({ ...acceptEntry(`evil${index}.example`), reason: null, addedAt: 1, addedBy: null }, change);
  for (let index = 0; index < operatorEntriesMax; index += 1) await add(index);
  expect(await add(operatorEntriesMax)).toBe('full');
  expect(await add(0)).toBe('exists');
});
