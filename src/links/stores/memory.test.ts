import { expect, test } from 'bun:test';
import { linkStoreConformance } from '../store.conformance.ts';
import { insertItem, sampleLink } from '../store-samples.ts';
import { createMemoryStore } from './memory.ts';

linkStoreConformance('memory', async () => ({ store: createMemoryStore(), dispose: async () => {} }));

test('a link whose trace is rejected leaves no claim behind', async () => {
  const answers = [false, true];
  const store = createMemoryStore(
    async () => [],
    () => answers.shift()!,
  );
  const item = insertItem(sampleLink('claimed'), { leased: false, claim: { length: 7, id: 42 } });
  expect(await store.insert([item, item])).toEqual([{ kind: 'taken' }, { kind: 'inserted' }]);
});
