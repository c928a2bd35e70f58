import { expect, test } from 'bun:test';
import { openMemoryRecords } from '../../../test/kit/record-engines.ts';
import { noteKind } from '../fake-kinds.ts';
import { recordStoreConformance } from '../record-store.conformance.ts';
import { put } from '../record-store.ts';

recordStoreConformance('memory', openMemoryRecords, { sweeps: true, locks: true });

test('rules are tested with the limit of the strictest engine', async () => {
  const { store } = await openMemoryRecords();
  // A record and its places in four indexes.
  const writes = Array.from({ length: 21 }, (_, n) =>
    put(noteKind, { id: `n${n}`, book: 'a', text: '', tags: ['x', 'y', 'z'] }),
  );
  await expect(store.transact(writes)).rejects.toThrow('at most 100 items');
  expect(await store.transact(writes.slice(1))).toBe('done');
});
