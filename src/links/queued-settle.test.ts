/** `settle` of the queued store: links that wait in the queue are stored ahead of the drain. */
import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { Link } from './link.ts';
import { type QueuedStore, type QueuedStoreOptions, queuedStore } from './queued-store.ts';
import { createMemoryPendings, createMemoryQueue } from './queues/fake-memory.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

let clock: ManualClock;
let memory: LinkStore;
let queue: ReturnType<typeof createMemoryQueue>;
let pendings: ReturnType<typeof createMemoryPendings>;
let store: QueuedStore;

beforeEach(() => {
  clock = new ManualClock();
  memory = createMemoryStore();
  queue = createMemoryQueue(clock);
  pendings = createMemoryPendings(clock);
  store = storeOf();
});

const storeOf = (parts: Partial<QueuedStoreOptions> = {}): QueuedStore =>
  queuedStore({
    store: memory,
    queue,
    pendings,
    gate: { through: (_, append) => append() },
    mayBePending: code => code.length === 7,
    isUnchangedSince: () => true,
    clock,
    ...parts,
  });
const linkOf = (code: string, overrides: Partial<Link> = {}): Link =>
  sampleLink(code, { createdAt: clock.now(), updatedAt: clock.now(), ...overrides });

describe('links that wait', () => {
  test('are stored at once where they are wanted, and the others keep waiting', async () => {
    const links = Array.from({ length: 1_000 }, (_, n) =>
      linkOf(`wait${String(n).padStart(3, '0')}`, { ownerId: n % 5 === 0 ? 'acc_2' : 'acc_1' }),
    );
    await store.insert(links.map(link => insertItem(link)));
    await queue.append(['nothing that can be read']);
    const wanted = links.filter(({ ownerId }) => ownerId === 'acc_1');
    expect(await store.settle!(({ ownerId }) => ownerId === 'acc_1')).toBe(wanted.length);
    for (const link of links) {
      expect(await memory.find(link.code)).toEqual(link.ownerId === 'acc_1' ? link : undefined);
      expect(await store.find(link.code)).toEqual(link);
    }
    expect(pendings.size).toBe(links.length - wanted.length);
    expect(store.figures.storedEarly).toBe(wanted.length);
  });

  test('stay findable when they could not be stored, and the caller learns why', async () => {
    const links = ['aaaaaaa', 'bbbbbbb', 'ccccccc'].map(code => linkOf(code));
    await store.insert(links.map(link => insertItem(link)));
    const problem = new Problem('store_unavailable');
    const failed = { kind: 'failed', problem } as const;
    const partial = storeOf({
      store: {
        ...memory,
        insert: async items =>
          items.length === 1 ? [failed] : [...(await memory.insert([items[0]!])), failed, failed],
      },
    });
    await expect(partial.settle!(() => true)).rejects.toBe(problem);
    expect(pendings.size).toBe(2);
    expect(partial.figures.storedEarly).toBe(1);
    await expect(partial.replace(linkOf('bbbbbbb', { version: 2 }))).rejects.toMatchObject({
      outcome: 'none',
    });
    for (const link of links) expect(await store.find(link.code)).toEqual(link);
  });

  test('keep their changes, when they were stored and changed before', async () => {
    const link = linkOf('abcdefg');
    await store.insert([insertItem(link)]);
    await store.replace({ ...link, title: 'changed', version: link.version + 1 });
    expect(await store.settle!(() => true)).toBe(1);
    expect((await store.find('abcdefg'))?.title).toBe('changed');
  });

  test('cannot be listed while the queue is down', async () => {
    const unlisted = storeOf({
      queue: {
        ...queue,
        // biome-ignore lint/correctness/useYield: it fails before it has anything to give.
        async *waiting() {
          throw new Error('down');
        },
      },
    });
    await expect(unlisted.settle!(() => true)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});
