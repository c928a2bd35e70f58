import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { pendingLifeMs } from '../config/cache-settings.ts';
import { Drain } from './drain.ts';
import { type Death, FakeLife } from './fake-life.ts';
import type { Link } from './link.ts';
import { decodeQueuedLink, encodeQueuedLink } from './queued-link.ts';
import { type QueuedStore, queuedStore } from './queued-store.ts';
import { QueueGate } from './queued-writes.ts';
import { createMemoryPendings, createMemoryQueue } from './queues/fake-memory.ts';
import type { InsertItem, LinkStore } from './store.ts';
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
  store = storeOf(new FakeLife());
});

function storeOf(life: FakeLife, parts: Partial<Parameters<typeof queuedStore>[0]> = {}): QueuedStore {
  return queuedStore({
    store: life.seeing('store', memory),
    queue: life.seeing('queue', queue),
    pendings: life.seeing('pendings', pendings),
    gate: new QueueGate({
      queue,
      clock,
      config: { queueMax: 1_000, drainPerS: 200 },
      onDown: () => undefined,
      onReturn: () => undefined,
    }),
    mayBePending: code => code.length === 7,
    isUnchangedSince: () => true,
    clock,
    ...parts,
  });
}

const linkOf = (code: string, overrides: Partial<Link> = {}): Link =>
  sampleLink(code, { createdAt: clock.now(), updatedAt: clock.now(), ...overrides });
const queuedCodes = async (): Promise<string[]> =>
  (await Array.fromAsync(queue.waiting())).flat().map(text => decodeQueuedLink(text).code);
const failing = async (): Promise<never> => {
  throw new Error('down');
};

async function drain(): Promise<Drain> {
  const worker = new Drain({ queue, store: memory, pendings, perS: 1_000, clock, onError: () => undefined });
  worker.start();
  while ((await queue.behind()) > 0) {
    await yieldToEventLoop();
    clock.advance(100);
  }
  const stopped = worker.stop();
  clock.advance(1_000);
  await stopped;
  return worker;
}

describe('a plain link with a leased code', () => {
  test('is found at once, and in the store after the drain, with nothing left behind', async () => {
    const link = linkOf('abcdefg');
    expect(await store.insert([insertItem(link)])).toEqual([{ kind: 'inserted' }]);
    expect(await memory.find('abcdefg')).toBeUndefined();
    expect(await store.find('abcdefg')).toEqual(link);
    expect(await storeOf(new FakeLife()).find('abcdefg')).toEqual(link);
    await drain();
    expect(await memory.find('abcdefg')).toEqual(link);
    expect(await store.find('abcdefg')).toEqual(link);
    expect(pendings.size).toBe(0);
    expect(store.figures).toEqual({ queued: 1, passed: 0, storedEarly: 0 });
  });

  test('is never missed while it moves from its record into the store', async () => {
    const link = linkOf('abcdefg');
    await store.insert([insertItem(link)]);
    // Everything happens between the first read of the store and the read of the records.
    const moving = storeOf(new FakeLife(), {
      pendings: {
        ...pendings,
        async find(code) {
          await drain();
          return pendings.find(code);
        },
      },
    });
    expect(await moving.find('abcdefg')).toEqual(link);
  });

  test('goes to the store directly when other processes could not find it before', async () => {
    store = storeOf(new FakeLife(), { pendings: { ...pendings, put: failing } });
    expect(await store.insert([insertItem(linkOf('abcdefg'))])).toEqual([{ kind: 'inserted' }]);
    expect(await memory.find('abcdefg')).toBeDefined();
    expect(await queue.behind()).toBe(0);
    expect(store.figures.passed).toBe(1);
  });
});

describe('what needs an answer from the store', () => {
  test('goes there, beside items that do not, and each outcome stays in its place', async () => {
    await memory.insert([insertItem(linkOf('taken', { origin: 'custom' }), { leased: false })]);
    const keyed = { ownerId: 'acc_1', key: 'k', fingerprint: 'f', createdAt: clock.now(), validAfter: 0 };
    const items: InsertItem[] = [
      insertItem(linkOf('leased1')),
      insertItem(linkOf('taken', { origin: 'custom' }), { leased: false }),
      insertItem(linkOf('leased2')),
      insertItem(linkOf('found12'), { existing: 'same-url' }),
      insertItem(linkOf('keyed12'), { idempotency: keyed }),
      insertItem(linkOf('leased3')),
    ];
    expect((await store.insert(items)).map(({ kind }) => kind)).toEqual([
      'inserted',
      'taken',
      'inserted',
      'inserted',
      'inserted',
      'inserted',
    ]);
    expect(await queuedCodes()).toEqual(['leased1', 'leased2', 'leased3']);
    expect(await memory.find('keyed12')).toBeDefined();
    expect(await memory.find('found12')).toBeDefined();
  });

  test('is not even tried when the queue rejects the rest: nothing is stored, and nothing is found', async () => {
    store = storeOf(new FakeLife(), { queue: { append: failing, waiting: queue.waiting } });
    const items = [
      insertItem(linkOf('abcdefg')),
      insertItem(linkOf('alias', { origin: 'custom' }), { leased: false }),
    ];
    await expect(store.insert(items)).rejects.toMatchObject({
      code: 'store_unavailable',
      headers: { 'Retry-After': '1' },
    });
    expect(await store.find('abcdefg')).toBeUndefined();
    expect(await memory.find('alias')).toBeUndefined();
    expect(pendings.size).toBe(0);
    expect(store.figures.queued).toBe(0);
  });
});

describe('while the store rejects items that need its answer', () => {
  const problem = new Problem('store_unavailable');
  const alias = (): InsertItem => insertItem(linkOf('alias', { origin: 'custom' }), { leased: false });
  const refusing = (parts: Partial<Parameters<typeof queuedStore>[0]> = {}): QueuedStore =>
    storeOf(new FakeLife(), {
      store: { ...memory, insert: () => Promise.reject(problem) },
      ...parts,
    });

  test('items queued beside them are still acknowledged, and each outcome stays in its place', async () => {
    store = refusing();
    const items = [alias(), insertItem(linkOf('leased1')), alias(), insertItem(linkOf('leased2'))];
    expect(await store.insert(items)).toEqual([
      { kind: 'failed', problem },
      { kind: 'inserted' },
      { kind: 'failed', problem },
      { kind: 'inserted' },
    ]);
    expect(await queuedCodes()).toEqual(['leased1', 'leased2']);
    expect(await store.find('leased2')).toBeDefined();
  });

  test('a call of which nothing was queued is rejected as a whole', async () => {
    await expect(refusing().insert([alias()])).rejects.toBe(problem);
    const unseen = refusing({ pendings: { ...pendings, put: failing } });
    await expect(unseen.insert([insertItem(linkOf('leased1')), alias()])).rejects.toBe(problem);
    expect(await queue.behind()).toBe(0);
  });
});

describe('a change to a pending link', () => {
  beforeEach(async () => {
    await store.insert([insertItem(linkOf('abcdefg', { maxClicks: 2 }))]);
  });
  const edited = (): Link =>
    linkOf('abcdefg', { longUrl: 'https://example.com/new', version: 2, maxClicks: 2 });

  test('is kept, and the drain does not undo it', async () => {
    expect(await store.replace(edited())).toBe('replaced');
    expect(pendings.size).toBe(0);
    const worker = await drain();
    expect([worker.drained, worker.foundThere, worker.dead]).toEqual([0, 1, 0]);
    expect((await store.find('abcdefg'))?.longUrl).toBe('https://example.com/new');
    expect(store.figures.storedEarly).toBe(1);
  });

  test('names the version it saw, like any other', async () => {
    expect(await store.replace({ ...edited(), version: 3 })).toBe('conflict');
    expect(await store.replace(edited())).toBe('replaced');
  });

  test('and a deletion are final', async () => {
    expect(await store.replace({ ...edited(), status: 'deleted', longUrl: '' })).toBe('replaced');
    const worker = await drain();
    expect([worker.foundThere, worker.dead]).toEqual([1, 0]);
    expect((await store.find('abcdefg'))?.status).toBe('deleted');
  });

  test('also finds it when it is stored at the same moment', async () => {
    const moving = storeOf(new FakeLife(), {
      pendings: {
        ...pendings,
        async find(code) {
          await drain();
          return pendings.find(code);
        },
      },
    });
    expect(await moving.replace(edited())).toBe('replaced');
  });

  test('counts clicks against its limit, exactly', async () => {
    expect(await store.useClick('abcdefg', clock.now())).toBe(true);
    await drain();
    expect(await store.useClick('abcdefg', clock.now())).toBe(true);
    expect(await store.useClick('abcdefg', clock.now())).toBe(false);
    expect(await store.useClick('unknown', clock.now())).toBe(false);
  });

  test('counts a click on a link that the drain stores at that moment', async () => {
    let isFirst = true;
    const moving = storeOf(new FakeLife(), {
      store: {
        ...memory,
        async useClick(code, at) {
          const isUsed = await memory.useClick(code, at);
          if (isFirst) await drain();
          isFirst = false;
          return isUsed;
        },
      },
    });
    expect(await moving.useClick('abcdefg', clock.now())).toBe(true);
    expect((await memory.find('abcdefg'))?.usedClicks).toBe(1);
  });

  test('to a link that does not exist says so', async () => {
    expect(await store.replace(linkOf('missing', { version: 2 }))).toBe('missing');
    expect(await store.replace(linkOf('alias-that-is-missing', { version: 2 }))).toBe('missing');
  });
});

describe('while the records cannot be read', () => {
  beforeEach(() => {
    store = storeOf(new FakeLife(), { pendings: { ...pendings, find: failing } });
  });

  test('a stored link is found, and one that cannot be pending is missing', async () => {
    await memory.insert([insertItem(linkOf('abcdefg'))]);
    expect(await store.find('abcdefg')).toBeDefined();
    expect(await store.find('some-alias')).toBeUndefined();
  });

  test('a link that may exist is never reported as missing', async () => {
    const unsure = { code: 'store_unavailable', headers: { 'Retry-After': '1' } };
    await expect(store.find('abcdefg')).rejects.toMatchObject(unsure);
    await expect(store.replace(linkOf('abcdefg', { version: 2 }))).rejects.toMatchObject(unsure);
    await expect(store.useClick('abcdefg', 0)).rejects.toMatchObject(unsure);
  });

  test('a link whose clicks are used up is reported as such', async () => {
    await memory.insert([insertItem(linkOf('abcdefg', { maxClicks: 0 }))]);
    expect(await store.useClick('abcdefg', 0)).toBe(false);
  });
});

describe('a process that dies', () => {
  const links = () => [linkOf('aaaaaaa'), linkOf('bbbbbbb')];

  /** Every point at which the work can be interrupted, each with a name. */
  async function deathsOf(
    work: (store: QueuedStore) => Promise<unknown>,
  ): Promise<(Death & { name: string })[]> {
    const life = new FakeLife();
    await work(storeOf(life));
    return life.calls.flatMap((name, call) =>
      (['before', 'after'] as const).map(when => ({ call, when, name: `${when} ${name}` })),
    );
  }

  test('while it creates leaves links that will be stored, or nothing after a time; nothing in between', async () => {
    const create = (by: QueuedStore) => by.insert(links().map(link => insertItem(link)));
    const deaths = await deathsOf(create);
    expect(deaths.map(({ name }) => name)).toEqual([
      'before pendings.put',
      'after pendings.put',
      'before queue.append',
      'after queue.append',
    ]);
    for (const death of deaths) {
      memory = createMemoryStore();
      queue = createMemoryQueue(clock);
      pendings = createMemoryPendings(clock);
      const life = new FakeLife(death);
      void create(storeOf(life));
      await life.died;
      const isQueued = (await queue.behind()) > 0;
      const survivor = storeOf(new FakeLife());
      // A client that knows the code finds the link from its queueing on, without a gap.
      if (isQueued) expect(await survivor.find('aaaaaaa')).toBeDefined();
      await drain();
      clock.advance(pendingLifeMs);
      for (const { code } of links()) {
        expect([death.name, (await survivor.find(code)) !== undefined]).toEqual([death.name, isQueued]);
        expect((await memory.find(code)) !== undefined).toBe(isQueued);
      }
    }
  });

  test('while it changes a pending link leaves it as it was, or changed, and the drain does not undo it', async () => {
    const queueOne = async (): Promise<void> => {
      memory = createMemoryStore();
      queue = createMemoryQueue(clock);
      pendings = createMemoryPendings(clock);
      await storeOf(new FakeLife()).insert([insertItem(linkOf('abcdefg'))]);
    };
    const change = (by: QueuedStore) =>
      by.replace(linkOf('abcdefg', { longUrl: 'https://example.com/new', version: 2 }));
    await queueOne();
    const deaths = await deathsOf(change);
    expect(deaths.length).toBe(10);
    for (const death of deaths) {
      await queueOne();
      const life = new FakeLife(death);
      void change(storeOf(life));
      await life.died;
      const survivor = storeOf(new FakeLife());
      const seen = await survivor.find('abcdefg');
      expect(seen).toBeDefined();
      const worker = await drain();
      expect(worker.dead).toBe(0);
      expect(await survivor.find('abcdefg')).toEqual(seen!);
      if (seen!.version === 1) expect(await change(survivor)).toBe('replaced');
    }
  });
});

test('a leftover record does not bring a purged link back', async () => {
  const link = linkOf('abcdefg');
  await store.insert([insertItem(link)]);
  await drain();
  await pendings.put([link]);
  await store.replace({ ...link, expiresAt: clock.now() + 1, version: 2 });
  // The settings guarantee that nothing is purged sooner than this after its expiry.
  clock.advance(pendingLifeMs + 2);
  expect(await memory.purgeExpired(clock.now() - pendingLifeMs, 10)).toBe(1);
  expect(await store.find('abcdefg')).toBeUndefined();
});

test('the text in the queue is the whole link', async () => {
  const link = linkOf('abcdefg', { title: 'a', tags: ['b'], expiresAt: clock.now() + 5 });
  await store.insert([insertItem(link)]);
  expect((await Array.fromAsync(queue.waiting())).flat()).toEqual([encodeQueuedLink(link)]);
});

test('during a store outage a record answers while its link is new, and never after a change', async () => {
  const down = storeOf(new FakeLife(), { store: { ...memory, find: failing } });
  await pendings.put([linkOf('new1234')]);
  expect(await down.find('new1234')).toBeDefined();
  await expect(down.find('none123')).rejects.toThrow();
  clock.advance(60_001);
  await expect(down.find('new1234')).rejects.toThrow();
  await memory.insert([insertItem(linkOf('left123'))]);
  await pendings.put([linkOf('left123')]);
  await store.replace(linkOf('left123', { status: 'disabled', version: 2 }));
  expect(await pendings.find('left123')).toBeUndefined();
});

test('during a store outage a record that was written again after a change does not answer', async () => {
  const link = linkOf('abcdefg');
  await store.insert([insertItem(link)]);
  const changed = new Set<string>();
  const down = storeOf(new FakeLife(), {
    store: { ...memory, find: failing },
    isUnchangedSince: (code, at) => at === link.createdAt && !changed.has(code),
  });
  expect(await down.find('abcdefg')).toEqual(link);
  await store.replace({ ...link, status: 'disabled', version: 2 });
  changed.add('abcdefg');
  // It still waits in the queue, from which lost records are written again.
  await pendings.put([link]);
  await expect(down.find('abcdefg')).rejects.toThrow('down');
});
