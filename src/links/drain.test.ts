import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { Drain, type DrainOptions } from './drain.ts';
import { type Death, FakeLife } from './fake-life.ts';
import type { Link } from './link.ts';
import type { QueueConsumer } from './queue.ts';
import { encodeQueuedLink } from './queued-link.ts';
import {
  createMemoryPendings,
  createMemoryQueue,
  type MemoryPendings,
  type MemoryQueue,
} from './queues/fake-memory.ts';
import type { LinkStore } from './store.ts';
import { insertItem, sampleLink } from './store-samples.ts';
import { createMemoryStore } from './stores/memory.ts';

let clock: ManualClock;
let store: LinkStore;
let queue: MemoryQueue;
let pendings: MemoryPendings;
let inserts: string[][];
let errors: unknown[];

beforeEach(renew);

function renew(): void {
  clock = new ManualClock();
  const memory = createMemoryStore();
  inserts = [];
  errors = [];
  store = {
    ...memory,
    insert(items) {
      inserts.push(items.map(({ link }) => link.code));
      return memory.insert(items);
    },
  };
  queue = createMemoryQueue(clock);
  pendings = createMemoryPendings(clock);
}

const linksOf = (count: number): Link[] =>
  Array.from({ length: count }, (_, n) => sampleLink(`code${n}`, { createdAt: clock.now() }));

async function enqueue(links: readonly Link[]): Promise<void> {
  await pendings.put(links);
  await queue.append(links.map(encodeQueuedLink));
}

const drainOf = (options: Partial<DrainOptions> = {}): Drain =>
  new Drain({ queue, store, pendings, perS: 1_000, clock, onError: error => errors.push(error), ...options });

/** Advances the clock until a condition holds; bounded, in case it never does. */
async function until(holds: () => boolean | Promise<boolean>, stepMs = 10): Promise<void> {
  for (let step = 0; step < 20_000; step += 1) {
    if (await holds()) return;
    await yieldToEventLoop();
    clock.advance(stepMs);
  }
  throw new Error('it never came to pass');
}

const untilEmpty = () => until(async () => (await queue.behind()) === 0);

async function stop(drain: Drain): Promise<void> {
  let isStopped = false;
  const stopped = drain.stop().then(() => {
    isStopped = true;
  });
  await until(() => isStopped);
  await stopped;
}

/** Until the queue is empty. */
async function finish(drain: Drain): Promise<void> {
  await untilEmpty();
  await stop(drain);
}

async function expectAllStored(links: readonly Link[]): Promise<void> {
  for (const link of links) expect(await store.find(link.code)).toEqual(link);
  const page = await store.list({
    ownerId: 'acc_1',
    limit: 10_000,
    order: 'newest',
    cursor: undefined,
    tag: undefined,
    state: undefined,
    search: undefined,
    now: clock.now(),
  });
  expect(page.links.length).toBe(links.length);
}

describe('the drain', () => {
  test('stores queued links and removes their pending records', async () => {
    const links = linksOf(700);
    await enqueue(links);
    const drain = drainOf();
    drain.start();
    await finish(drain);
    await expectAllStored(links);
    expect(pendings.size).toBe(0);
    expect([drain.drained, drain.foundThere, drain.dead, drain.failures]).toEqual([700, 0, 0, 0]);
    expect(Math.max(...inserts.map(codes => codes.length))).toBeLessThanOrEqual(500);
  });

  test('keeps to its pace after the first second’s worth', async () => {
    const links = linksOf(1_000);
    await enqueue(links);
    const drain = drainOf({ perS: 200 });
    const startMs = clock.monotonicMs();
    drain.start();
    await untilEmpty();
    const tookMs = clock.monotonicMs() - startMs;
    await stop(drain);
    expect(tookMs).toBeGreaterThanOrEqual(3_900);
    expect(tookMs).toBeLessThanOrEqual(6_000);
    expect(Math.min(...inserts.map(codes => codes.length))).toBeGreaterThanOrEqual(20);
  });

  test('shares the work with other drains, and everything is stored once', async () => {
    const links = linksOf(600);
    await enqueue(links);
    const drains = [drainOf({ perS: 100 }), drainOf({ perS: 100 }), drainOf({ perS: 100 })];
    for (const drain of drains) drain.start();
    await untilEmpty();
    for (const drain of drains) await stop(drain);
    await expectAllStored(links);
    expect(drains.map(({ drained }) => drained > 0)).toEqual([true, true, true]);
    expect(drains.reduce((sum, { drained }) => sum + drained, 0)).toBe(600);
  });

  test('does not settle a link that it finds before the store confirms that it is durable', async () => {
    const links = linksOf(3);
    await store.insert(links.slice(0, 2).map(link => insertItem(link)));
    await enqueue(links);
    let attempts = 0;
    const confirmCommits = async () => {
      if (++attempts < 3) throw new Problem('store_unavailable');
    };
    const drain = drainOf({ store: { ...store, confirmCommits } });
    drain.start();
    await until(() => attempts === 2);
    expect([await queue.behind(), pendings.size]).toEqual([3, 3]);
    await finish(drain);
    expect([drain.foundThere, drain.dead, pendings.size]).toEqual([3, 0, 0]);
  });

  test('counts an existing link as done, whatever was changed about it', async () => {
    const links = linksOf(3);
    await store.insert(links.slice(0, 2).map(link => insertItem(link)));
    await store.replace({ ...links[0]!, status: 'deleted', longUrl: '', version: 2 });
    await enqueue(links);
    const drain = drainOf();
    drain.start();
    await finish(drain);
    expect([drain.drained, drain.foundThere, drain.dead]).toEqual([1, 2, 0]);
    expect((await store.find('code0'))?.status).toBe('deleted');
  });

  test('waits for a store that is down, and loses nothing', async () => {
    const links = linksOf(50);
    await enqueue(links);
    let isDown = true;
    const attempts: number[] = [];
    const insert: LinkStore['insert'] = items => {
      attempts.push(items.length);
      if (isDown) throw new Problem('store_unavailable');
      return store.insert(items);
    };
    const drain = drainOf({ store: { ...store, insert } });
    drain.start();
    await until(() => drain.failures === 5);
    expect(await queue.behind()).toBe(50);
    isDown = false;
    await finish(drain);
    await expectAllStored(links);
    expect(queue.deadLettered).toEqual([]);
    // Storing one by one is for finding out what is wrong with a link.
    expect(new Set(attempts)).toEqual(new Set([50]));
  });

  test('tries links again that only failed to be written, and dead-letters none of them', async () => {
    const links = linksOf(6);
    await enqueue(links);
    const problem = new Problem('store_unavailable');
    let failuresLeft = 3;
    // As DynamoDB does it: each link is a write of its own.
    const insert: LinkStore['insert'] = async items => {
      failuresLeft -= 1;
      if (failuresLeft < 0) return store.insert(items);
      const written = await store.insert(items.slice(0, 4));
      return [...written, ...items.slice(4).map(() => ({ kind: 'failed', problem }) as const)];
    };
    const drain = drainOf({ store: { ...store, insert } });
    drain.start();
    await finish(drain);
    expect(queue.deadLettered).toEqual([]);
    await expectAllStored(links);
    expect(pendings.size).toBe(0);
    expect([drain.dead, drain.failures]).toEqual([0, 3]);
  });

  test('continues when the records cannot be removed', async () => {
    await enqueue(linksOf(10));
    const remove = async () => {
      throw new Error('down');
    };
    const drain = drainOf({ pendings: { remove } });
    drain.start();
    await finish(drain);
    expect([drain.drained, drain.recordsLeft]).toEqual([10, 10]);
  });

  test('starts again after a failure of the queue, without skipping messages it had taken', async () => {
    const links = linksOf(30);
    await enqueue(links);
    let faults = 3;
    const consume = (): QueueConsumer => {
      const consumer = queue.consume();
      return {
        ...consumer,
        async finish() {
          faults -= 1;
          if (faults >= 0) throw new Error('nobody knows whether it is finished');
          await consumer.finish();
        },
      };
    };
    const drain = drainOf({ queue: { ...queue, consume } });
    drain.start();
    await finish(drain);
    await expectAllStored(links);
    expect([drain.drained, drain.foundThere, drain.failures]).toEqual([30, 90, 3]);
  });

  test('stopped while the store is down returns its unfinished messages', async () => {
    await enqueue(linksOf(5));
    const insert = async () => {
      throw new Problem('store_unavailable');
    };
    const drain = drainOf({ store: { ...store, insert } });
    drain.start();
    await until(() => drain.failures > 0);
    await stop(drain);
    expect(await queue.behind()).toBe(5);
    expect((await queue.consume().take(10, 0)).length).toBe(5);
  });
});

describe('a message that cannot become a link', () => {
  test('is dead-lettered with the reason, counted, and blocks no other message', async () => {
    const links = linksOf(2);
    await enqueue(links.slice(0, 1));
    await queue.append(['nonsense', JSON.stringify({ v: 9 })]);
    await enqueue(links.slice(1));
    const drain = drainOf();
    drain.start();
    await finish(drain);
    await expectAllStored(links);
    expect(queue.deadLettered).toEqual([
      { text: 'nonsense', place: '1', reason: 'the message is not JSON' },
      { text: '{"v":9}', place: '2', reason: 'the format 9 is not known' },
    ]);
    expect(drain.dead).toBe(2);
    expect(errors.length).toBe(2);
  });

  test('because its code is another link’s is dead-lettered, and the other stays', async () => {
    const [link] = linksOf(1);
    const other = sampleLink('code0', { createdAt: clock.now() - 1, longUrl: 'https://example.com/other' });
    await store.insert([insertItem(other)]);
    await enqueue([link!]);
    const drain = drainOf();
    drain.start();
    await finish(drain);
    expect(queue.deadLettered.map(({ reason }) => reason)).toEqual(['its code belongs to another link']);
    expect(await store.find('code0')).toEqual(other);
  });

  const refusing =
    (bad: ReadonlySet<string>): LinkStore['insert'] =>
    async items => {
      if (items.some(({ link }) => bad.has(link.code))) throw new Error('invalid byte sequence');
      return store.insert(items);
    };

  test('because the store rejects it, and accepts its neighbours, is dead-lettered', async () => {
    const links = linksOf(10);
    await enqueue(links);
    const drain = drainOf({ store: { ...store, insert: refusing(new Set(['code3', 'code7'])) } });
    drain.start();
    await finish(drain);
    expect(drain.drained).toBe(8);
    expect(queue.deadLettered.map(({ reason }) => reason)).toEqual([
      'invalid byte sequence',
      'invalid byte sequence',
    ]);
    expect(queue.deadLettered[0]?.text).toContain('code3');
  });

  test('is not assumed when the store rejects everything: then all wait, and nothing is dead-lettered', async () => {
    const links = linksOf(10);
    await enqueue(links.slice(0, 1));
    const bad = new Set(links.map(({ code }) => code));
    const drain = drainOf({ store: { ...store, insert: refusing(bad) } });
    drain.start();
    await until(() => drain.failures === 3);
    await enqueue(links.slice(1));
    await until(() => drain.failures === 6);
    expect(queue.deadLettered).toEqual([]);
    expect(await queue.behind()).toBe(10);
    for (const { code } of links.slice(1)) bad.delete(code);
    await finish(drain);
    expect(drain.drained).toBe(9);
    expect(queue.deadLettered.length).toBe(1);
  });

  test('stays in the queue until it is certainly dead-lettered', async () => {
    await queue.append(['nonsense']);
    let faults = 2;
    const deadLetter: MemoryQueue['deadLetter'] = async letters => {
      faults -= 1;
      if (faults >= 0) throw new Error('the broker is down');
      await queue.deadLetter(letters);
    };
    const drain = drainOf({ queue: { ...queue, deadLetter } });
    drain.start();
    await finish(drain);
    expect(queue.deadLettered.length).toBe(1);
    expect(drain.dead).toBe(1);
  });
});

test('a drain that dies at any point leaves the rest to the next one, and nothing is done twice', async () => {
  const work = async (life: FakeLife): Promise<{ drain: Drain; links: Link[]; consumer: QueueConsumer }> => {
    renew();
    const links = linksOf(3);
    // One is there already, as after an edit, and one message is invalid.
    await store.insert([insertItem(links[0]!)]);
    await enqueue(links.slice(0, 2));
    await queue.append(['nonsense']);
    await enqueue(links.slice(2));
    let consumer: QueueConsumer | undefined;
    const watched = {
      ...queue,
      consume: () => {
        consumer = queue.consume();
        return consumer;
      },
    };
    const drain = drainOf({
      queue: life.seeing('queue', watched),
      store: life.seeing('store', store),
      pendings: life.seeing('pendings', pendings),
    });
    drain.start();
    return { drain, links, consumer: consumer! };
  };

  const whole = new FakeLife();
  const { drain } = await work(whole);
  await untilEmpty();
  const calls = whole.calls.slice(0, whole.calls.findIndex(name => name.endsWith('finish')) + 1);
  await stop(drain);
  expect(calls).toEqual([
    'queue.consume',
    'queue.consume.take',
    'store.insert',
    'store.find',
    'pendings.remove',
    'queue.deadLetter',
    'queue.consume.finish',
  ]);
  const deaths = calls.slice(1).flatMap((_, index): Death[] => [
    { call: index + 1, when: 'before' },
    { call: index + 1, when: 'after' },
  ]);
  for (const death of deaths) {
    const life = new FakeLife(death);
    const { links, consumer } = await work(life);
    await life.died;
    // The queue notices the dead one after a while.
    await consumer.close();
    const next = drainOf();
    next.start();
    await untilEmpty();
    await stop(next);
    await expectAllStored(links);
    expect(pendings.size).toBe(0);
    expect(new Set(queue.deadLettered.map(({ text }) => text))).toEqual(new Set(['nonsense']));
  }
});
