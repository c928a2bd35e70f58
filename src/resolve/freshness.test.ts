import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { type FakeProcess, settle, World } from './fake-processes.ts';
import { Freshness } from './freshness.ts';
import { notInMemory } from './resolver.ts';

describe('freshness', () => {
  let clock: ManualClock;
  let freshness: Freshness;
  beforeEach(() => {
    clock = new ManualClock(0);
    freshness = new Freshness(clock);
    clock.advance(99);
    freshness.hearOwnBeat('self', clock.monotonicMs());
    freshness.hearBeat('peer', 0);
    clock.advance(1);
    freshness.proveByFeed(100);
  });
  const beat = (peer = 'peer', changes = 0): boolean => {
    clock.advance(1_000);
    freshness.hearOwnBeat('self', clock.monotonicMs());
    return freshness.hearBeat(peer, changes);
  };

  test('is still proven by heartbeats while the feed does not answer', () => {
    for (let n = 0; n < 100; n += 1) beat();
    expect(freshness.feedProvenAtMs).toBe(100);
    expect(freshness.provenAtMs).toBe(clock.monotonicMs());
  });

  test('is proven only up to the last message of the quietest process', () => {
    beat();
    for (let n = 0; n < 5; n += 1) {
      clock.advance(1_000);
      freshness.hearOwnBeat('self', clock.monotonicMs());
    }
    expect(freshness.provenAtMs).toBe(1_100);
  });

  test('is not proven by others while our own heartbeats do not come back', () => {
    clock.advance(1_000);
    freshness.hearBeat('peer', 0);
    expect(freshness.provenAtMs).toBe(100);
  });

  test('counts our own heartbeat from when it was sent', () => {
    clock.advance(1_000);
    freshness.hearBeat('peer', 0);
    freshness.hearOwnBeat('self', 600);
    expect(freshness.provenAtMs).toBe(600);
  });

  test('notices a lost message by the next message and by the next heartbeat', () => {
    expect(freshness.hearChange('peer', 1)).toBe('next');
    expect(freshness.hearChange('peer', 3)).toBe('gap');
    expect(beat('peer', 5)).toBe(false);
    expect(freshness.missingOf('peer')).toEqual([2, 4, 5]);
    expect([freshness.messagesMissed, freshness.provenAtMs]).toEqual([3, 100]);
  });

  test('is proven by messages again once what was lost has been repeated', () => {
    freshness.hearChange('peer', 3);
    beat('peer', 3);
    expect(freshness.provenAtMs).toBe(100);
    expect([freshness.hearChange('peer', 1), freshness.hearChange('peer', 2)]).toEqual(['next', 'next']);
    expect(freshness.provenAtMs).toBe(1_100);
  });

  test('is proven by messages again once the feed has been read after the loss', () => {
    freshness.hearChange('peer', 2);
    beat('peer', 2);
    expect(freshness.provenAtMs).toBe(100);
    freshness.proveByFeed(clock.monotonicMs());
    beat('peer', 2);
    expect(freshness.provenAtMs).toBe(clock.monotonicMs());
    // The feed has no account changes, so it does not prove copies of accounts from before the loss was noticed.
    expect(freshness.contiguousSinceMs).toBe(100);
  });

  test('requests no more messages than a sender keeps: beyond that only the feed helps', () => {
    expect(freshness.hearChange('peer', 2_000)).toBe('gap');
    expect(freshness.missingOf('peer')).toEqual([]);
    beat('peer', 2_000);
    expect(freshness.provenAtMs).toBe(100);
    freshness.proveByFeed(clock.monotonicMs());
    beat('peer', 2_000);
    expect(freshness.provenAtMs).toBe(clock.monotonicMs());
  });

  test('is not proven after a process has left with messages missing', () => {
    expect(freshness.leave('peer', 1)).toBe(false);
    clock.advance(1_000);
    freshness.hearOwnBeat('self', clock.monotonicMs());
    expect(freshness.provenAtMs).toBe(100);
  });

  test('ignores messages that arrive twice or late', () => {
    expect([1, 2, 1, 2].map(number => freshness.hearChange('peer', number))).toEqual([
      'next',
      'next',
      'repeat',
      'repeat',
    ]);
    expect(beat('peer', 1)).toBe(true);
    expect(freshness.provenAtMs).toBe(clock.monotonicMs());
  });

  test('accepts a new process that has changed nothing, and reads the feed for one that has', () => {
    expect(beat('young', 0)).toBe(true);
    freshness.hearBeat('peer', 0);
    expect(freshness.provenAtMs).toBe(1_100);
    expect(beat('old', 7)).toBe(false);
    freshness.hearBeat('peer', 0);
    freshness.hearBeat('young', 0);
    expect(freshness.provenAtMs).toBe(1_100);
    expect(freshness.messagesMissed).toBe(0);
  });

  test('is not proven across an interruption of the channel, until the feed has been read again', () => {
    clock.advance(2_600);
    freshness.hearBeat('peer', 0);
    freshness.hearOwnBeat('self', clock.monotonicMs());
    expect(freshness.provenAtMs).toBe(100);
    clock.advance(1);
    freshness.proveByFeed(clock.monotonicMs());
    beat();
    expect(freshness.provenAtMs).toBe(clock.monotonicMs());
  });

  test('is not proven by a channel that some processes do not use', () => {
    const region = new Freshness(clock, false);
    clock.advance(1);
    region.proveByFeed(clock.monotonicMs());
    clock.advance(1_000);
    region.hearOwnBeat('self', clock.monotonicMs());
    expect(region.provenAtMs).toBe(101);
  });

  test('does not mistake a late message of a process that has left for its return', () => {
    freshness.leave('peer', 0);
    expect(freshness.hearBeat('peer', 0)).toBe(true);
    expect(freshness.hearChange('peer', 1)).toBe('next');
    expect(freshness.peers).toBe(1);
  });

  test('does not wait for a process that has left, and waits ten minutes for one that went silent', () => {
    freshness.hearBeat('silent', 0);
    expect(freshness.leave('peer', 0)).toBe(true);
    expect(freshness.peers).toBe(2);
    clock.advance(600_000);
    freshness.hearOwnBeat('self', clock.monotonicMs());
    freshness.proveByFeed(clock.monotonicMs());
    expect(freshness.peers).toBe(2);
    clock.advance(1);
    freshness.proveByFeed(clock.monotonicMs());
    expect(freshness.peers).toBe(1);
  });

  test('counts what was read before a silent process was removed as doubtful: it may have changed accounts', () => {
    const beatAlone = (ms: number): void => {
      clock.advance(ms);
      freshness.hearOwnBeat('self', clock.monotonicMs());
      freshness.proveByFeed(clock.monotonicMs());
    };
    // The peer is cut off from the channel, revokes a key, and dies.
    for (let beats = 1; beats < 600; beats += 1) beatAlone(1_000);
    expect(freshness.contiguousSinceMs).toBeLessThan(100);
    beatAlone(1_000);
    expect(freshness.peers).toBe(1);
    expect(freshness.contiguousSinceMs).toBe(clock.monotonicMs());
    expect(freshness.channelProvenAtMs).toBe(Number.NEGATIVE_INFINITY);
    beatAlone(1_000);
    expect(freshness.channelProvenAtMs).toBe(clock.monotonicMs());
  });

  test('counts what was read before our own heartbeat returned as doubtful, however long it was gone', () => {
    for (let ms = 0; ms < 900_000; ms += 1_000) {
      clock.advance(1_000);
      freshness.proveByFeed(clock.monotonicMs());
    }
    expect(freshness.peers).toBe(0);
    // In these minutes a process came, revoked a key and left.
    freshness.hearOwnBeat('self', clock.monotonicMs());
    freshness.hearBeat('peer', 0);
    expect(freshness.contiguousSinceMs).toBe(clock.monotonicMs());
    expect(freshness.channelProvenAtMs).toBe(Number.NEGATIVE_INFINITY);
  });

  test('counts what was read before our first heartbeat came back as doubtful', () => {
    const young = new Freshness(clock);
    clock.advance(60_000);
    young.proveByFeed(clock.monotonicMs());
    young.hearOwnBeat('self', clock.monotonicMs());
    expect(young.contiguousSinceMs).toBe(clock.monotonicMs());
  });
});

describe('without the store', () => {
  let world: World;
  let one: FakeProcess;
  let other: FakeProcess;
  beforeEach(async () => {
    world = new World();
    await world.create('abc');
    one = await world.start();
    other = await world.start();
    await world.pass(2_000);
    await one.visit('abc');
    await other.visit('abc');
  });

  test('memory alone answers as long as heartbeats of the others arrive', async () => {
    world.isStoreDown = true;
    const lookups = one.cache.gets;
    await world.pass(600_000);
    expect(await one.visit('abc')).toBe(1);
    expect(one.cache.gets).toBe(lookups);
    expect(one.health.isFailing).toBe(true);
  });

  test('a process learns of a change that another one made', async () => {
    one.isStoreCut = true;
    await world.pass(5_000);
    await other.change('abc');
    expect(one.resolver.recall('abc')).toBe(notInMemory);
    await world.pass(12_000);
    // The fence has expired, and the shared cache has the new record from the other process.
    await other.visit('abc');
    await settle();
    expect(await one.visit('abc')).toBe(2);
  });

  test('a change is sent again to a process that missed its message', async () => {
    one.isStoreCut = true;
    await world.pass(5_000);
    one.cache.isDeaf = true;
    await other.change('abc');
    one.cache.isDeaf = false;
    expect(one.resolver.recall('abc')).toMatchObject({ version: 1 });
    await world.pass(1_200);
    expect(one.resolver.recall('abc')).toBe(notInMemory);
    expect(one.freshness.missingOf('none')).toEqual([]);
    await world.pass(2_000);
    expect(one.freshness.provenAtMs).toBeGreaterThan(world.clock.monotonicMs() - 1_500);
  });

  test('a process learns of a change that the others know only from the feed', async () => {
    one.isStoreCut = true;
    await world.pass(5_000);
    await world.change('abc');
    await world.pass(1_400);
    expect(one.resolver.recall('abc')).toBe(notInMemory);
  });

  test('a hit renews an old copy, and all copies after the cache came back empty', async () => {
    await world.pass(31_000);
    expect(await one.visit('abc')).toBe(1);
    expect(one.finder.renewals).toBe(1);
    expect(await one.visit('abc')).toBe(1);
    expect(one.finder.renewals).toBe(1);
    world.isStoreDown = true;
    for (const { cache } of [one, other]) cache.isDown = true;
    world.contents.entries.clear();
    world.contents.checkpoint = undefined;
    for (const { cache } of [one, other]) cache.return();
    await settle();
    expect(await one.visit('abc')).toBe(1);
    await settle();
    expect((await one.cache.get('abc'))?.link?.version).toBe(1);
  });

  test('no more than a thousand copies are written again in a second', async () => {
    const link = (await world.store.find('abc'))!;
    const renew = () => one.finder.renew(link);
    expect(Array.from({ length: 1_001 }, renew).filter(Boolean)).toHaveLength(1_000);
    await world.pass(1_000);
    expect(renew()).toBe(true);
  });

  test('a link that the shared cache says has changed is not served from memory', async () => {
    world = new World({ staleMaxMs: 3_600_000 });
    await world.create('abc');
    one = await world.start();
    await one.visit('abc');
    one.isStoreCut = true;
    one.cache.isDeaf = true;
    await world.pass(5_000);
    expect(await one.visit('abc')).toBe(1);
    await world.change('abc');
    await one.cache.fence(['abc']);
    await world.pass(2_200);
    await expect(one.visit('abc')).rejects.toThrow();
    await expect(one.visit('abc')).rejects.toThrow();
  });

  test('an isolated process serves what it knows for the configured time, and no longer', async () => {
    world = new World({ staleMaxMs: 60_000 });
    await world.create('abc');
    one = await world.start();
    await one.visit('abc');
    await world.pass(2_000);
    world.isStoreDown = true;
    one.cache.isDown = true;
    await world.pass(50_000);
    expect(await one.visit('abc')).toBe(1);
    expect(one.resolver.staleAnswers).toBeGreaterThan(0);
    await world.pass(12_000);
    await expect(one.visit('abc')).rejects.toThrow();
    world.isStoreDown = false;
    await world.pass(2_000);
    expect(await one.visit('abc')).toBe(1);
  });
});
