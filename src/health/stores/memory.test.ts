import { expect, test } from 'bun:test';
import { healthStoreConformance } from '../store.conformance.ts';
import { createMemoryHealthStore } from './memory.ts';

healthStoreConformance('memory', async () => {
  const store = createMemoryHealthStore();
  return { store, reopen: async () => store, dispose: async () => {} };
});

test('what is not checked any more is forgotten', async () => {
  const store = createMemoryHealthStore();
  const record = { destination: 'd', checkedAt: 0, failingSince: null, httpStatus: 200, reason: null };
  await store.save([{ ...record, code: 'old' }], 0, 1_000);
  await store.save([{ ...record, code: 'new' }], 1_001, 1_000);
  expect((await store.find(['old', 'new'])).map(each => each?.code)).toEqual([undefined, 'new']);
});
