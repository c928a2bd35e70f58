import { beforeEach, describe, expect, test } from 'bun:test';
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
    // Long enough for the memory of both to reach back further than a mark.
    await world.pass(12_000);
    await one.look('abc');
    await one.look('bystander');
    await settle();
    world.reads.length = 0;
  });

  const both = (act: (each: FakeProcess) => void): void => [one, other].forEach(act);
  const away = (): void => both(({ cache }) => (cache.isAway = true));
  const back = (): void => both(({ cache }) => cache.return());

  test('is there from the start where the cache is empty, and leaves a mark', async () => {
    const empty = new World();
    const first = await empty.start();
    expect(first.trust.isTrusted).toBe(true);
    expect(empty.contents.mark).toMatchObject({ seq: 0, trustFromMs: 0 });
    expect(first.trust).toMatchObject({ replays: 0, distrusts: 0 });
  });

  test('waits for a cache that is away at the start', async () => {
    const early = new FakeProcess(world, new FaultyCache(world.clock, world.contents));
    early.cache.isAway = true;
    await early.start();
    expect(await early.look('abc')).toBe(1);
    expect(early.finder.cachePassed).toBe(1);
    early.cache.return();
    await settle();
    expect(await early.look('bystander')).toBe(1);
    expect(early.finder.cacheHits).toBe(1);
  });

  describe('a fence that could not be set', () => {
    test('is owed: the code is not looked up in the cache until it is paid', async () => {
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

    test('is owed as well by a cache that is full, which still shows what it should have forgotten', async () => {
      both(({ cache }) => (cache.isFull = true));
      await one.change('abc');
      await world.pass(12_000);
      expect((await one.cache.get('abc'))?.link?.version).toBe(1);
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
    });

    test('does not keep those from being paid that can be', async () => {
      one.cache.lost.add('abc');
      one.trust.owe(['abc', 'bystander']);
      await world.pass(400);
      expect(one.trust.owed).toBe(1);
      expect(await one.cache.get('bystander')).toBeUndefined();
    });

    test('keeps the mark where it is, so that a process that starts later knows of it', async () => {
      one.cache.lost.add('abc');
      other.die();
      const { seq } = world.contents.mark!;
      await one.change('abc');
      await world.pass(10_000);
      expect(world.contents.mark!.seq).toBe(seq);
      one.die();
      const late = await world.start();
      expect(late.trust.replays).toBe(1);
      await settle();
      await world.pass(12_000);
      expect(await late.look('abc')).toBe(2);
    });
  });

  describe('when the cache returns', () => {
    test('nothing is looked up there before its mark was read', async () => {
      away();
      await settle();
      one.cache.return();
      expect(one.trust.mayUse('bystander')).toBe(false);
      await settle();
      expect(one.trust.mayUse('bystander')).toBe(true);
    });

    test('it is believed again, and nothing but what changed lately is read from the store', async () => {
      away();
      await world.pass(30_000);
      back();
      await settle();
      expect(await other.look('bystander')).toBe(1);
      expect(world.reads).toEqual([]);
      expect(one.trust).toMatchObject({ replays: 0, distrusts: 0 });
    });

    test('a link that was killed meanwhile is not found alive there', async () => {
      away();
      await one.change('abc');
      await world.pass(30_000);
      back();
      await settle();
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      await world.pass(30_000);
      expect(await (await world.start()).look('abc')).toBe(2);
    });

    test('fences that it has forgotten are set again before they are needed', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      expect(await one.cache.get('abc')).toBeUndefined();
      away();
      await world.pass(11_000);
      world.restore(replica);
      back();
      expect(one.trust.mayUse('abc')).toBe(false);
      await settle();
      expect(await one.cache.get('abc')).toBeUndefined();
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      expect(one.trust.replays).toBe(0);
    });

    test('and no mark says that all is well before they are', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      await world.pass(2_000);
      away();
      await world.pass(2_000);
      world.restore(replica);
      back();
      both(({ cache }) => cache.lost.add('abc'));
      await world.pass(12_000);
      const late = await world.start();
      await settle();
      expect(await late.look('abc')).toBe(2);
    });

    test('also where the store is away as well', async () => {
      const replica = world.snapshot();
      await one.change('abc');
      away();
      world.isStoreAway = true;
      await world.pass(11_000);
      world.restore(replica);
      back();
      await settle();
      expect(await other.look('bystander')).toBe(1);
      await expect(other.look('abc')).rejects.toThrow('the store is away');
    });

    test('from a copy of itself that is minutes old, the feed tells what it missed', async () => {
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

    test('from a copy that is older than the feed, nothing in it counts, for nobody', async () => {
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
      // What is cached from now on counts again.
      await world.pass(20_000);
      await one.look('bystander');
      world.reads.length = 0;
      await other.look('bystander');
      expect(world.reads).toEqual([]);
    });

    test('from nothing, it is filled anew', async () => {
      world.contents.entries.clear();
      world.contents.mark = undefined;
      back();
      await settle();
      expect(world.contents.mark).toBeDefined();
      await one.look('bystander');
      await other.look('bystander');
      expect(world.reads).toEqual(['bystander']);
    });
  });

  describe('a process that starts', () => {
    test('hears of changes that nobody lived to tell of', async () => {
      both(each => each.die());
      await world.change('abc');
      await world.pass(30_000);
      const alone = await world.start();
      await settle();
      expect(await alone.look('abc')).toBe(2);
      expect(await alone.look('bystander')).toBe(1);
      expect(world.reads).toEqual(['abc']);
    });

    test('believes nothing in a cache that another store left its mark on', async () => {
      both(each => each.die());
      world.contents.mark = { ...world.contents.mark!, seq: 1_000_000 };
      const alone = await world.start();
      expect(alone.trust.distrusts).toBe(1);
      await alone.look('bystander');
      expect(world.reads).toEqual(['bystander']);
    });
  });

  test('more debts than can be kept make everything worthless', async () => {
    const small = new World({ owedMax: 10 });
    await small.create('old');
    const first = await small.start();
    await small.pass(12_000);
    await first.look('old');
    await settle();
    first.cache.isAway = true;
    await first.invalidation.announce(Array.from({ length: 11 }, (_, n) => `code${n}`));
    await small.change('old');
    expect(first.trust.owed).toBe(0);
    first.cache.return();
    await settle();
    expect(first.trust).toMatchObject({ isTrusted: true, distrusts: 1 });
    expect(small.contents.mark!.trustFromMs).toBeGreaterThan(small.clock.now());
    expect(await first.look('old')).toBe(2);
  });

  test('changes that were missed for good make everything worthless', async () => {
    await world.change('abc');
    one.trust.distrust();
    await settle();
    expect(await one.look('abc')).toBe(2);
    expect(one.trust.distrusts).toBe(1);
  });
});
