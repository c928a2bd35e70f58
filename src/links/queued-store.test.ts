import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { Drain } from './drain.ts';
import { type Death, FakeLife } from './fake-life.ts';
import type { Link } from './link.ts';
import { pendingLifeMs } from './pending.ts';
import { createMemoryPendings, type MemoryPendings } from './pendings/memory.ts';
import { QueueGate } from './queue-gate.ts';
import { decodeQueuedLink, encodeQueuedLink } from './queued-link.ts';
import { type QueuedStore, queuedStore } from './queued-store.ts';
import { createMemoryQueue, type MemoryQueue } from './queues/memory.ts';
import type { InsertItem, LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

let clock: ManualClock;
let memory: LinkStore;
let queue: MemoryQueue;
let pendings: MemoryPendings;
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
      behindMax: 1_000,
      drainPerS: 200,
      onAway: () => undefined,
      onReturn: () => undefined,
    }),
    mayBePending: code => code.length === 7,
    ...parts,
  });
}

const linkOf = (code: string, overrides: Partial<Link> = {}): Link =>
  sampleLink(code, { createdAt: clock.now(), updatedAt: clock.now(), ...overrides });
const queuedCodes = async (): Promise<string[]> =>
  (await Array.fromAsync(queue.waiting())).flat().map(text => decodeQueuedLink(text).code);
const failing = async (): Promise<never> => {
  throw new Error('away');
};

async function drain(): Promise<Drain> {
  const worker = new Drain({ queue, store: memory, pendings, perS: 1_000, clock, onError: () => undefined });
  worker.start();
  while ((await queue.behind()) > 0) {
    await Bun.sleep(0);
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
    expect(store.figures).toEqual({ queued: 1, passed: 0, hastened: 0 });
  });

  test('is never missed while it moves from its record into the store', async () => {
    const link = linkOf('abcdefg');
    await store.insert([insertItem(link)]);
    // Everything happens between the first look into the store and the look at the records.
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

  test('goes into the store when no other process could find it before', async () => {
    store = storeOf(new FakeLife(), { pendings: { ...pendings, put: failing } });
    expect(await store.insert([insertItem(linkOf('abcdefg'))])).toEqual([{ kind: 'inserted' }]);
    expect(await memory.find('abcdefg')).toBeDefined();
    expect(await queue.behind()).toBe(0);
    expect(store.figures.passed).toBe(1);
  });
});

describe('what needs an answer from the store', () => {
  test('goes there, beside what does not, and each outcome stays in its place', async () => {
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

  test('is not even tried when the queue refuses the rest: nothing is stored, and nobody finds anything', async () => {
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

describe('while the store refuses what needs its answer', () => {
  const problem = new Problem('store_unavailable');
  const alias = (): InsertItem => insertItem(linkOf('alias', { origin: 'custom' }), { leased: false });
  const refusing = (parts: Partial<Parameters<typeof queuedStore>[0]> = {}): QueuedStore =>
    storeOf(new FakeLife(), {
      store: { ...memory, insert: () => Promise.reject(problem) },
      ...parts,
    });

  test('what was queued beside it is promised all the same, and each outcome stays in its place', async () => {
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

  test('a call of which nothing was queued is refused as a whole', async () => {
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
    expect(store.figures.hastened).toBe(1);
  });

  test('names the version it saw, as any other', async () => {
    expect(await store.replace({ ...edited(), version: 3 })).toBe('conflict');
    expect(await store.replace(edited())).toBe('replaced');
  });

  test('and a deletion are final', async () => {
    expect(await store.replace({ ...edited(), status: 'deleted', longUrl: '' })).toBe('replaced');
    const worker = await drain();
    expect([worker.foundThere, worker.dead]).toEqual([1, 0]);
    expect((await store.find('abcdefg'))?.status).toBe('deleted');
  });

  test('finds it also when it is stored in the very moment', async () => {
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

  test('to a link that is nowhere says so', async () => {
    expect(await store.replace(linkOf('missing', { version: 2 }))).toBe('missing');
    expect(await store.replace(linkOf('alias-that-is-missing', { version: 2 }))).toBe('missing');
  });
});

describe('while the records cannot be read', () => {
  beforeEach(() => {
    store = storeOf(new FakeLife(), { pendings: { ...pendings, find: failing } });
  });

  test('what is stored is found, and what cannot be pending is missing', async () => {
    await memory.insert([insertItem(linkOf('abcdefg'))]);
    expect(await store.find('abcdefg')).toBeDefined();
    expect(await store.find('some-alias')).toBeUndefined();
  });

  test('nobody is told that a link does not exist that may', async () => {
    const unsure = { code: 'store_unavailable', headers: { 'Retry-After': '1' } };
    await expect(store.find('abcdefg')).rejects.toMatchObject(unsure);
    await expect(store.replace(linkOf('abcdefg', { version: 2 }))).rejects.toMatchObject(unsure);
    await expect(store.useClick('abcdefg', 0)).rejects.toMatchObject(unsure);
  });

  test('a link whose clicks are used up is known to be', async () => {
    await memory.insert([insertItem(linkOf('abcdefg', { maxClicks: 0 }))]);
    expect(await store.useClick('abcdefg', 0)).toBe(false);
  });
});

describe('a process that dies', () => {
  const links = () => [linkOf('aaaaaaa'), linkOf('bbbbbbb')];

  /** Every point at which the work can be cut off, each with a name. */
  async function deathsOf(
    work: (store: QueuedStore) => Promise<unknown>,
  ): Promise<(Death & { name: string })[]> {
    const life = new FakeLife();
    await work(storeOf(life));
    return life.calls.flatMap((name, call) =>
      (['before', 'after'] as const).map(when => ({ call, when, name: `${when} ${name}` })),
    );
  }

  test('while it creates leaves links that will be stored, or nothing after a time; never one in between', async () => {
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
      // Who knows the code finds the link from its queueing on, without a moment in which it is gone.
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

test('a record that stayed behind does not bring a purged link back', async () => {
  const link = linkOf('abcdefg');
  await store.insert([insertItem(link)]);
  await drain();
  await pendings.put([link]);
  await store.replace({ ...link, expiresAt: clock.now() + 1, version: 2 });
  // The settings see to it that nothing is purged sooner than this after its expiry.
  clock.advance(pendingLifeMs + 2);
  expect(await memory.purgeExpired(clock.now() - pendingLifeMs, 10)).toBe(1);
  expect(await store.find('abcdefg')).toBeUndefined();
});

test('the text in the queue is the whole link', async () => {
  const link = linkOf('abcdefg', { title: 'a', tags: ['b'], expiresAt: clock.now() + 5 });
  await store.insert([insertItem(link)]);
  expect((await Array.fromAsync(queue.waiting())).flat()).toEqual([encodeQueuedLink(link)]);
});

describe('links that wait', () => {
  test('are stored at once where they are wanted, and the others wait on', async () => {
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
    expect(store.figures.hastened).toBe(wanted.length);
  });

  test('are as they were changed, when they were stored and changed before', async () => {
    const link = linkOf('abcdefg');
    await store.insert([insertItem(link)]);
    await store.replace({ ...link, title: 'changed', version: link.version + 1 });
    expect(await store.settle!(() => true)).toBe(1);
    expect((await store.find('abcdefg'))?.title).toBe('changed');
  });

  test('cannot be told while the queue is away', async () => {
    const away = storeOf(new FakeLife(), {
      queue: {
        append: failing,
        // biome-ignore lint/correctness/useYield: it fails before it has anything to give.
        async *waiting() {
          throw new Error('away');
        },
      },
    });
    await expect(away.settle!(() => true)).rejects.toMatchObject({ code: 'store_unavailable' });
  });
});
