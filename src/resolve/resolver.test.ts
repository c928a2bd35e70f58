import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock, yieldToEventLoop } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { insertItem, sampleLink } from '../links/store-samples.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import { ChangeFollower } from './change-follower.ts';
import { Horizon } from './horizon.ts';
import { Resolver } from './resolver.ts';

/** In these tests `id42` is the generated code of id 42; anything else has another shape. */
const idOf = (code: string): number | undefined => (/^id\d+$/.test(code) ? Number(code.slice(2)) : undefined);
const ttlMs = 2_000;
const negativeTtlMs = 1_000;

interface Process {
  readonly resolver: Resolver;
  readonly follower: ChangeFollower;
  readonly horizon: Horizon;
}

describe('resolver', () => {
  let clock: ManualClock;
  let store: LinkStore;
  let reads: string[];
  let gates: Map<string, Promise<void>>;
  let draw: number;

  beforeEach(() => {
    clock = new ManualClock();
    reads = [];
    gates = new Map();
    draw = 0.999;
    const memory = createMemoryStore();
    store = {
      ...memory,
      async find(code) {
        reads.push(code);
        const found = await memory.find(code);
        await gates.get(code);
        return found;
      },
    };
  });

  async function startProcess(isFollowable = (_url: string): boolean => true): Promise<Process> {
    const random: Random = { float: () => draw, bytes: length => new Uint8Array(length) };
    const horizon = new Horizon(idOf);
    const handlers = { change: (_code: string): void => {}, gap: (): void => {} };
    const follower = new ChangeFollower({
      store,
      clock,
      horizon,
      codeLength: 7,
      onChange: code => handlers.change(code),
      onGap: () => handlers.gap(),
      onError: error => {
        throw error;
      },
    });
    const resolver = new Resolver({
      store,
      horizon,
      follower,
      freshness: {
        get provenAtMs() {
          return follower.provenAtMs;
        },
      },
      outage: { isStoreFailing: () => false, mayAskCache: () => false, staleMaxMs: 0 },
      isFollowable,
      clock,
      random,
      entriesMax: 100,
      bytesMax: 1024 * 1024,
      ttlMs,
      negativeTtlMs,
    });
    handlers.change = code => resolver.invalidate(code);
    handlers.gap = () => resolver.flush();
    await follower.start();
    return { resolver, follower, horizon };
  }

  const insert = (link: Link, id?: number): Promise<unknown> =>
    store.insert([insertItem(link, id === undefined ? {} : { claim: { length: 7, id } })]);
  const hold = (code: string): (() => void) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gates.set(code, promise);
    return () => {
      gates.delete(code);
      resolve();
    };
  };

  test('ten thousand concurrent visitors of a cold link cost one store read', async () => {
    const { resolver } = await startProcess();
    await insert(sampleLink('cold', { origin: 'custom' }));
    const links = await Promise.all(Array.from({ length: 10_000 }, () => resolver.resolve('cold')));
    expect(links.every(link => link?.code === 'cold')).toBe(true);
    expect(reads).toEqual(['cold']);
  });

  test('a warm link is answered at once, from memory', async () => {
    const { resolver } = await startProcess();
    await insert(sampleLink('warm', { origin: 'custom' }));
    await resolver.resolve('warm');
    expect(resolver.resolve('warm')).not.toBeInstanceOf(Promise);
    expect(reads).toHaveLength(1);
    expect(resolver.hits).toBe(1);
  });

  test('a hit never extends an entry’s lifetime', async () => {
    const { resolver, follower } = await startProcess();
    follower.stop();
    await insert(sampleLink('hot', { origin: 'custom' }));
    await resolver.resolve('hot');
    for (let elapsedMs = 0; elapsedMs < ttlMs * 3; elapsedMs += 100) {
      clock.advance(100);
      await resolver.resolve('hot');
    }
    expect(reads.length).toBeGreaterThanOrEqual(3);
  });

  test('an entry that the store proves unchanged is not read again, until the proofs stop', async () => {
    const { resolver, follower } = await startProcess();
    await insert(sampleLink('hot', { origin: 'custom' }));
    await follower.catchUp();
    await resolver.resolve('hot');
    clock.advance(ttlMs * 10);
    expect(resolver.resolve('hot')).not.toBeInstanceOf(Promise);
    expect(reads).toHaveLength(1);
    follower.stop();
    clock.advance(ttlMs);
    expect(await resolver.resolve('hot')).toMatchObject({ code: 'hot' });
    expect(reads).toHaveLength(2);
  });

  test('a store without a change token proves nothing', async () => {
    const { changeToken, ...withoutToken } = store;
    expect(changeToken).toBeDefined();
    store = withoutToken;
    const { resolver, follower } = await startProcess();
    await insert(sampleLink('hot', { origin: 'custom' }));
    await resolver.resolve('hot');
    clock.advance(ttlMs - 1);
    await follower.catchUp();
    clock.advance(1);
    await resolver.resolve('hot');
    expect(reads).toHaveLength(2);
  });

  test('near its end a hot entry is refreshed once in the background, and no visitor waits', async () => {
    const { resolver, follower } = await startProcess();
    await insert(sampleLink('hot', { origin: 'custom' }));
    await follower.catchUp();
    follower.stop();
    await resolver.resolve('hot');
    clock.advance(ttlMs * 0.9 - 1);
    draw = 1e-3; // −ln(0.001) ≈ 6.9 load times ahead
    const release = hold('hot');
    for (let visit = 0; visit < 100; visit += 1) expect(resolver.resolve('hot')).not.toBeInstanceOf(Promise);
    expect(reads).toHaveLength(2);
    release();
    await yieldToEventLoop();
    draw = 0.999;
    clock.advance(ttlMs / 2);
    expect(resolver.resolve('hot')).not.toBeInstanceOf(Promise);
    expect(reads).toHaveLength(2);
  });

  test('an unknown alias is remembered as missing, for a while', async () => {
    const { resolver, follower } = await startProcess();
    follower.stop();
    for (let visit = 0; visit < 5; visit += 1) expect(await resolver.resolve('nope')).toBeUndefined();
    expect(reads).toHaveLength(1);
    clock.advance(negativeTtlMs);
    await resolver.resolve('nope');
    expect(reads).toHaveLength(2);
  });

  test('an alias created anywhere is found at once by a process that remembered it as missing', async () => {
    const [here, there] = [await startProcess(), await startProcess()];
    for (const { resolver } of [here, there]) expect(await resolver.resolve('promo')).toBeUndefined();
    await insert(sampleLink('promo', { origin: 'custom' }));
    for (const { resolver } of [here, there]) expect((await resolver.resolve('promo'))?.code).toBe('promo');
  });

  test('an alias that another request has read meanwhile is found by one that is still catching up', async () => {
    const { resolver, follower } = await startProcess();
    follower.stop();
    expect(await resolver.resolve('promo')).toBeUndefined();
    await insert(sampleLink('promo', { origin: 'custom' }));
    const { changes } = store;
    const slow = Promise.withResolvers<void>();
    let rounds = 0;
    store.changes = async (...asked) => {
      rounds += 1;
      if (rounds > 1) await slow.promise;
      return changes(...asked);
    };
    const [first, second] = [resolver.resolve('promo'), resolver.resolve('promo')];
    expect((await first)?.code).toBe('promo');
    slow.resolve();
    expect((await second)?.code).toBe('promo');
  });

  test('a code that was never issued costs no store read', async () => {
    const { resolver } = await startProcess();
    await store.leaseRange(7, 100, 1_000_000);
    await resolver.resolve('id100');
    for (let id = 100; id < 1_100; id += 1) expect(await resolver.resolve(`id${id}`)).toBeUndefined();
    expect(reads).toEqual([]);
    expect(resolver.shortcuts).toBe(1_001);
  });

  test('a code issued by another process a moment ago resolves', async () => {
    const { resolver } = await startProcess();
    expect(await resolver.resolve('id5')).toBeUndefined();
    await store.leaseRange(7, 10, 1_000_000);
    await insert(sampleLink('id5'));
    expect((await resolver.resolve('id5'))?.code).toBe('id5');
  });

  test('a leased code that is not issued yet is not remembered as missing', async () => {
    const { resolver } = await startProcess();
    await store.leaseRange(7, 10, 1_000_000);
    expect(await resolver.resolve('id5')).toBeUndefined();
    await insert(sampleLink('id5'));
    expect((await resolver.resolve('id5'))?.code).toBe('id5');
  });

  test('an alias with the shape of a code that was never issued resolves everywhere', async () => {
    const before = await startProcess();
    expect(await before.resolver.resolve('id777')).toBeUndefined();
    await insert(sampleLink('id777', { origin: 'custom' }), 777);
    const after = await startProcess();
    for (const { resolver } of [before, after]) expect((await resolver.resolve('id777'))?.code).toBe('id777');
    expect(await after.resolver.resolve('id778')).toBeUndefined();
    expect(reads).not.toContain('id778');
  });

  test('an edit reaches the other process with the next poll', async () => {
    const [here, there] = [await startProcess(), await startProcess()];
    await insert(sampleLink('edit', { origin: 'custom' }));
    for (const { resolver } of [here, there]) await resolver.resolve('edit');
    await store.replace(sampleLink('edit', { origin: 'custom', status: 'disabled', version: 2 }));
    clock.advance(20);
    await yieldToEventLoop();
    expect((await there.resolver.resolve('edit'))?.status).toBe('disabled');
  });

  test('a read that began before a change neither answers with the old record nor caches it', async () => {
    const { resolver } = await startProcess();
    await insert(sampleLink('slow', { origin: 'custom' }));
    const release = hold('slow');
    const early = resolver.resolve('slow');
    await yieldToEventLoop();
    await store.replace(sampleLink('slow', { origin: 'custom', status: 'disabled', version: 2 }));
    resolver.invalidate('slow');
    release();
    expect((await early)?.status).toBe('disabled');
    expect((await resolver.resolve('slow'))?.status).toBe('disabled');
  });

  test('a refresh that began before a change does not bring the old record back', async () => {
    const { resolver } = await startProcess();
    await insert(sampleLink('hot', { origin: 'custom' }));
    await resolver.resolve('hot');
    clock.advance(ttlMs * 0.9 - 1);
    // With this draw a hit so near the end starts a refresh.
    draw = Number.EPSILON;
    const release = hold('hot');
    expect(resolver.recall('hot')).toMatchObject({ status: 'active' });
    expect(reads).toEqual(['hot', 'hot']);
    await store.replace(sampleLink('hot', { origin: 'custom', status: 'blocked', version: 2 }));
    resolver.invalidate('hot');
    release();
    await yieldToEventLoop();
    expect((await resolver.resolve('hot'))?.status).toBe('blocked');
    expect(resolver.recall('hot')).toMatchObject({ status: 'blocked' });
  });

  test('with every message lost, a killed link lives no longer than a memory entry', async () => {
    const { resolver, follower } = await startProcess();
    follower.stop();
    await insert(sampleLink('killed', { origin: 'custom' }));
    await resolver.resolve('killed');
    await store.replace(sampleLink('killed', { origin: 'custom', status: 'blocked', version: 2 }));
    let livedMs = 0;
    while ((await resolver.resolve('killed'))?.status === 'active' && livedMs < 60_000) {
      clock.advance(20);
      livedMs += 20;
    }
    expect(livedMs).toBeLessThanOrEqual(ttlMs);
  });

  test('a reader that missed changes drops everything it had cached', async () => {
    const { resolver, follower } = await startProcess();
    await insert(sampleLink('a', { origin: 'custom' }));
    await follower.catchUp();
    await resolver.resolve('a');
    await store.replace(sampleLink('a', { origin: 'custom', status: 'disabled', version: 2 }));
    await store.prune({ answersBefore: 0, changesBefore: Number.MAX_SAFE_INTEGER }, 100);
    await follower.catchUp();
    expect(resolver.size).toBe(0);
    expect((await resolver.resolve('a'))?.status).toBe('disabled');
  });

  test('a failed read is not remembered and the next visitor tries again', async () => {
    const { resolver } = await startProcess();
    await insert(sampleLink('flaky', { origin: 'custom' }));
    const find = store.find;
    const failing = { ...store };
    failing.find = () => Promise.reject(new Error('disk'));
    Object.assign(store, { find: failing.find });
    await expect(resolver.resolve('flaky')).rejects.toThrow('disk');
    await yieldToEventLoop();
    Object.assign(store, { find });
    expect((await resolver.resolve('flaky'))?.code).toBe('flaky');
  });

  test('the destination is judged again when the record is read', async () => {
    const { resolver } = await startProcess(url => !url.includes('ours'));
    await insert(sampleLink('loop', { longUrl: 'https://ours.example/', origin: 'custom' }));
    await insert(sampleLink('fine', { origin: 'custom' }));
    expect((await resolver.resolve('loop'))?.followable).toBe(false);
    expect((await resolver.resolve('fine'))?.followable).toBe(true);
  });
});
