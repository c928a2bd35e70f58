import { beforeEach, expect, test } from 'bun:test';
import { announcingStore } from './announcing-store.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

let announced: (readonly string[])[];
let made: string[];
let store: LinkStore;
beforeEach(() => {
  announced = [];
  made = [];
  const memory = createMemoryStore();
  store = announcingStore(
    memory,
    async codes => {
      // An announced change is already stored.
      for (const code of codes) expect(await memory.find(code)).toBeDefined();
      announced.push(codes);
    },
    ({ code }) => made.push(code),
  );
});

test('a call announces its links with unleased codes together, and nothing else', async () => {
  await store.insert([insertItem(sampleLink('old', { origin: 'custom' }), { leased: false })]);
  announced = [];
  await store.insert([
    insertItem(sampleLink('leased')),
    insertItem(sampleLink('alias', { origin: 'custom' }), { leased: false }),
    insertItem(sampleLink('old', { origin: 'custom' }), { leased: false }),
    insertItem(sampleLink('drawn'), { leased: false }),
  ]);
  expect(announced).toEqual([['alias', 'drawn']]);
  expect(made).toEqual(['leased']);
});

test('a change is announced before its caller is answered, a rejected one never', async () => {
  await store.insert([insertItem(sampleLink('one'))]);
  expect(await store.replace(sampleLink('one', { status: 'disabled', version: 2 }))).toBe('replaced');
  expect(announced).toEqual([['one']]);
  expect(await store.replace(sampleLink('one', { status: 'active', version: 2 }))).toBe('conflict');
  expect(announced).toEqual([['one']]);
});
