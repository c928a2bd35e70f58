import { beforeEach, describe, expect, test } from 'bun:test';
import { ManualClock } from '../base/clock.ts';
import { fenced } from './cache.ts';
import { RecentChanges } from './cache-trust.ts';
import { FaultyCache } from './caches/fake-faulty-cache.ts';
import { FakeProcess, settle, World } from './fake-processes.ts';

describe('trust in the shared cache', () => {
  let world: World;
  let one: FakeProcess;
  let other: FakeProcess;

  beforeEach(async () => {
    world = new World();
    await world.create('abc');
    await world.create('bystander');
    one = await world.start();
    other = await world.start();
    // Long enough for the memory of both to reach back further than a checkpoint.
    await world.pass(12_000);
    await one.look('abc');
    await one.look('bystander');
    await settle();
    world.reads.length = 0;
  });

  const both = (act: (each: FakeProcess) => void): void => [one, other].forEach(act);
  const takeDown = (): void => both(({ cache }) => (cache.isDown = true));
  const back = (): void => both(({ cache }) => cache.return());

  test('exists from the start where the cache is empty, and writes a checkpoint', async () => {
    const empty = new World();
    const first = await empty.start();
    expect(first.trust.isTrusted).toBe(true);
    expect(empty.contents.checkpoint).toMatchObject({ seq: 0, trustFromMs: 0 });
    expect(first.trust).toMatchObject({ replays: 0, distrusts: 0 });
  });

  test('waits for a cache that is down at the start', async () => {
    const early = new FakeProcess(world, new FaultyCache(world.clock, world.contents));
    early.cache.isDown = true;
    await early.start();
    expect(await early.look('abc')).toBe(1);
    expect(early.finder.cachePassed).toBe(1);
    early.cache.return();
    await settle();
    expect(await early.look('bystander')).toBe(1);
    expect(early.finder.cacheHits).toBe(1);
  });

  describe('a fence that could not be set', () => {
    test('is owed: the code is not looked up in the cache until the fence is set', async () => {
      one.cache.lost.add('abc');
      await one.change('abc');
      await world.pass(12_000);
      expect(one.trust.owed).toBe(1);
      one.cache.gets = 0;
      expect(await one.look('abc')).toBe(2);
      expect(one.cache.gets).toBe(0);
      one.cache.lost.clear();
      await world.pass(200);
      expect(one.trust.owed).toBe(0);
    });

    test('is also owed where the cache is full, and still returns the record it should have dropped', async () => {
      both(({ cache }) => (cache.isFull = true));
      await one.change('abc');
      await world.pass(12_000);
      expect((await one.cache.get('abc'))?.link?.version).toBe(1);
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
    });

    test('does not block fences that can be set', async () => {
      one.cache.lost.add('abc');
      one.trust.owe(['abc', 'bystander']);
      await world.pass(400);
      expect(one.trust.owed).toBe(1);
      expect(await one.cache.get('bystander')).toBe(fenced);
    });

    test('keeps the checkpoint where it is, so that a process that starts later knows of it', async () => {
      one.cache.lost.add('abc');
      other.die();
      const { seq } = world.contents.checkpoint!;
      await one.change('abc');
      await world.pass(10_000);
      expect(world.contents.checkpoint!.seq).toBe(seq);
      one.die();
      const late = await world.start();
      expect(late.trust.replays).toBe(1);
      await settle();
      await world.pass(12_000);
      expect(await late.look('abc')).toBe(2);
    });

    test('is found by a process that starts later also behind pages with few changes', async () => {
      other.die();
      one.cache.lost.add('abc');
      await one.change('bystander');
      await one.change('abc');
      await world.pass(10_000);
      one.die();
      const { changes } = world.store;
      // A page holds fewer changes than numbers where some of these have none.
      world.store.changes = (afterSeq, limit) => changes(afterSeq, Math.min(limit, 1));
      const late = await world.start();
      expect(late.trust.replays).toBe(1);
      await settle();
      expect(await late.cache.get('abc')).toBe(fenced);
    });
  });

  describe('when the cache returns', () => {
    test('nothing is looked up there before its checkpoint has been read', async () => {
      takeDown();
      await settle();
      one.cache.return();
      expect(one.trust.mayUse('bystander')).toBe(false);
      await settle();
      expect(one.trust.mayUse('bystander')).toBe(true);
    });

    test('it is trusted again, and only recent changes are read from the store', async () => {
      takeDown();
      await world.pass(30_000);
      back();
      await settle();
      expect(await other.look('bystander')).toBe(1);
      expect(world.reads).toEqual([]);
      expect(one.trust).toMatchObject({ replays: 0, distrusts: 0 });
    });

    test('a link that was killed in the meantime is not found alive there', async () => {
      takeDown();
      await one.change('abc');
      await world.pass(30_000);
      back();
      await settle();
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      await world.pass(30_000);
      expect(await (await world.start()).look('abc')).toBe(2);
    });

    test('fences that it has lost are set again before they are needed', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      expect(await one.cache.get('abc')).toBe(fenced);
      takeDown();
      await world.pass(11_000);
      world.restore(replica);
      back();
      expect(one.trust.mayUse('abc')).toBe(false);
      await settle();
      expect(await one.cache.get('abc')).toBe(fenced);
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      expect(one.trust.replays).toBe(0);
    });

    test('no checkpoint says that no fence was lost before they are set', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      await world.pass(2_000);
      takeDown();
      await world.pass(2_000);
      world.restore(replica);
      back();
      both(({ cache }) => cache.lost.add('abc'));
      await world.pass(12_000);
      const late = await world.start();
      await settle();
      expect(await late.look('abc')).toBe(2);
    });

    test('also while the store is down as well', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      takeDown();
      world.isStoreDown = true;
      await world.pass(11_000);
      world.restore(replica);
      back();
      await settle();
      expect(await other.look('bystander')).toBe(1);
      await expect(other.look('abc')).rejects.toThrow('the store is down');
    });

    test('from a copy of itself that is minutes old, the feed has the changes it missed', async () => {
      const copy = world.snapshot();
      await one.change('abc');
      await world.pass(300_000);
      world.restore(copy);
      back();
      await settle();
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      expect(one.trust).toMatchObject({ replays: 1, distrusts: 0 });
      expect(await other.look('bystander')).toBe(1);
      expect(world.reads).not.toContain('bystander');
    });

    test('from a copy that is older than the feed, nothing in it is trusted, by any process', async () => {
      const copy = world.snapshot();
      await one.change('abc');
      await world.pass(5_000);
      await world.store.prune({ answersBefore: 0, changesBefore: Number.MAX_SAFE_INTEGER }, 1_000);
      await world.pass(300_000);
      world.restore(copy);
      back();
      await settle();
      const late = await world.start();
      expect([await one.look('abc'), await other.look('abc'), await late.look('abc')]).toEqual([2, 2, 2]);
      expect(one.trust.distrusts + other.trust.distrusts).toBeGreaterThan(0);
      world.reads.length = 0;
      await late.look('bystander');
      expect(world.reads).toEqual(['bystander']);
      // Records cached from now on count again.
      await world.pass(20_000);
      await one.look('bystander');
      world.reads.length = 0;
      await other.look('bystander');
      expect(world.reads).toEqual([]);
    });

    test('empty, it is filled again', async () => {
      world.contents.entries.clear();
      world.contents.checkpoint = undefined;
      back();
      await settle();
      expect(world.contents.checkpoint).toBeDefined();
      await one.look('bystander');
      await other.look('bystander');
      expect(world.reads).toEqual(['bystander']);
    });
  });

  describe('a process that starts', () => {
    test('learns of changes whose process died before announcing them', async () => {
      both(each => each.die());
      await world.change('abc');
      await world.pass(30_000);
      const alone = await world.start();
      await settle();
      expect(await alone.look('abc')).toBe(2);
      expect(await alone.look('bystander')).toBe(1);
      expect(world.reads).toEqual(['abc']);
    });

    test('trusts nothing in a cache with the checkpoint of another store', async () => {
      both(each => each.die());
      world.contents.checkpoint = { ...world.contents.checkpoint!, seq: 1_000_000 };
      const alone = await world.start();
      expect(alone.trust.distrusts).toBe(1);
      await alone.look('bystander');
      expect(world.reads).toEqual(['bystander']);
    });
  });

  test('more owed fences than can be kept invalidate everything', async () => {
    const small = new World({ owedMax: 10 });
    await small.create('old');
    const first = await small.start();
    await small.pass(12_000);
    await first.look('old');
    await settle();
    first.cache.isDown = true;
    await first.invalidation.announce(Array.from({ length: 11 }, (_, n) => `code${n}`));
    await small.change('old');
    expect(first.trust.owed).toBe(0);
    first.cache.return();
    await settle();
    expect(first.trust).toMatchObject({ isTrusted: true, distrusts: 1 });
    expect(small.contents.checkpoint!.trustFromMs).toBeGreaterThan(small.clock.now());
    expect(await first.look('old')).toBe(2);
  });

  test('changes that can no longer be read invalidate everything', async () => {
    await world.change('abc');
    one.trust.distrust();
    await settle();
    expect(await one.look('abc')).toBe(2);
    expect(one.trust.distrusts).toBe(1);
  });
});

describe('recent changes', () => {
  let clock: ManualClock;
  let recent: RecentChanges;
  let startedMs: number;
  beforeEach(() => {
    clock = new ManualClock();
    startedMs = clock.monotonicMs();
    recent = new RecentChanges(clock, 3);
  });

  test('are known for the requested time, counted from the last change', () => {
    recent.add('a');
    clock.advance(600);
    recent.add('a');
    clock.advance(600);
    expect([
      recent.isReceivedWithin('a', 601),
      recent.isReceivedWithin('a', 600),
      recent.isReceivedWithin('b', 600),
    ]).toEqual([true, false, false]);
  });

  test('are complete from the start until one had to be left out, the oldest first', () => {
    for (const code of ['a', 'b', 'a', 'c']) {
      clock.advance(10);
      recent.add(code);
    }
    expect([...recent.codes()]).toEqual(['b', 'a', 'c']);
    expect(recent.completeSinceMs).toBe(startedMs);
    recent.add('d');
    expect([...recent.codes()]).toEqual(['a', 'c', 'd']);
    expect(recent.completeSinceMs).toBe(startedMs + 20);
  });

  test('prove that a code has not changed since a time, as far back as they are complete', () => {
    const clock = new ManualClock(1_000);
    const recent = new RecentChanges(clock);
    clock.advance(1_000);
    recent.add('a');
    expect([recent.isUnchangedSince('b', 1_000), recent.isUnchangedSince('a', 1_000)]).toEqual([true, false]);
    expect(recent.isUnchangedSince('b', 999)).toBe(false);
    clock.advance(60_001);
    recent.forgetOld();
    expect([recent.isUnchangedSince('a', 1_999), recent.isUnchangedSince('a', 2_000)]).toEqual([false, true]);
  });

  test('are dropped after a minute', () => {
    recent.add('a');
    clock.advance(30_000);
    recent.add('b');
    clock.advance(30_001);
    recent.forgetOld();
    expect([...recent.codes()]).toEqual(['b']);
    expect(recent.completeSinceMs).toBe(startedMs);
    clock.advance(30_000);
    recent.forgetOld();
    expect([...recent.codes()]).toEqual([]);
    expect(recent.completeSinceMs).toBe(startedMs + 30_000);
  });
});
