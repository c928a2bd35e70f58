import { beforeEach, describe, expect, test } from 'bun:test';
import { Problem } from '../base/errors.ts';
import { type Random, seededRandom } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import { sampleLink, samplesStart } from '../links/store-samples.ts';
import { type FakeProcess, settle, World } from './fake-processes.ts';
import { type LifetimeSubject, lifetimeOf } from './link-finder.ts';

describe('link finder', () => {
  let world: World;
  let one: FakeProcess;
  let other: FakeProcess;
  let draw: number;
  const random: Random = { float: () => draw, bytes: seededRandom(1).bytes };

  beforeEach(async () => {
    draw = 0.5;
    world = new World({ random, gate: { readsMax: 2, waitingMax: 2, waitMaxMs: 1_000 } });
    await world.create('abc');
    one = await world.start();
    other = await world.start();
    world.manualClock.advance(60_000);
    await settle();
  });

  test('reads the store once for all processes', async () => {
    expect([await one.look('abc'), await other.look('abc'), await one.look('abc')]).toEqual([1, 1, 1]);
    expect(world.reads).toEqual(['abc']);
    expect(other.finder).toMatchObject({ cacheHits: 1, cacheMisses: 0, storeReads: 0 });
  });

  test('ten thousand visitors of a cold link make one read of the cache and one of the store', async () => {
    const visits = Array.from({ length: 10_000 }, () => one.visit('abc'));
    expect(new Set(await Promise.all(visits))).toEqual(new Set([1]));
    expect(world.reads).toEqual(['abc']);
    expect(one.cache.gets).toBe(1);
  });

  test('a link known to be missing costs no second read', async () => {
    expect([await one.look('none'), await other.look('none')]).toEqual([0, 0]);
    expect(world.reads).toEqual(['none']);
  });

  test('a cached absence is checked against the feed: its creator may not have reached the cache', async () => {
    expect(await one.look('late')).toBe(0);
    await world.create('late');
    expect(await other.look('late')).toBe(1);
  });

  test('the absence of a leased code is neither cached nor trusted', async () => {
    await one.look('leased1');
    await other.look('leased1');
    expect(world.reads).toEqual(['leased1', 'leased1']);
    await one.cache.fill('leased2', undefined, 60_000);
    await one.look('leased2');
    expect(world.reads.at(-1)).toBe('leased2');
  });

  test('a link with a click limit is read from the store each time', async () => {
    await world.create('limited', { maxClicks: 5 });
    await one.look('limited');
    await other.look('limited');
    expect(world.reads).toEqual(['limited', 'limited']);
  });

  test('a cache outage costs nothing but the store’s time', async () => {
    one.cache.isDown = true;
    expect([await one.look('abc'), await one.look('abc')]).toEqual([1, 1]);
    expect(one.finder).toMatchObject({ cacheFailures: 2, storeReads: 2, fillsFailed: 2 });
  });

  test('cached links survive a store outage', async () => {
    await one.look('abc');
    world.isStoreDown = true;
    expect(await other.look('abc')).toBe(1);
    await expect(other.look('cold')).rejects.toThrow('the store is down');
  });

  test('a slow cache is asked again, with a longer timeout, when the store is down', async () => {
    await one.look('abc');
    world.isStoreDown = true;
    other.cache.isSlow = true;
    expect(await other.look('abc')).toBe(1);
    expect(other.finder).toMatchObject({ cacheFailures: 1, cacheHits: 1, storeReads: 1 });
  });

  test('a code that changed a moment ago is looked up in the store alone', async () => {
    await one.look('abc');
    await one.change('abc');
    one.cache.gets = 0;
    expect([await one.look('abc'), await one.look('abc')]).toEqual([2, 2]);
    expect(one.cache.gets).toBe(0);
    expect(one.finder).toMatchObject({ cachePassed: 2, fills: 1, fillsRefused: 0 });
    await world.pass(11_200);
    await one.look('abc');
    expect(await other.look('abc')).toBe(2);
    expect(other.finder.cacheHits).toBe(1);
  });

  test('a cache answer that is overtaken by a change is not used', async () => {
    await one.look('abc');
    const looked = other.look('abc');
    other.trust.noteChange('abc');
    await world.change('abc');
    expect(await looked).toBe(2);
  });

  test('a slow read that began before a change does not bring the old record back', async () => {
    const release = world.hold('abc');
    const slow = one.look('abc');
    await settle();
    await other.change('abc');
    release();
    expect(await slow).toBe(1);
    await settle();
    await world.pass(20_000);
    expect(await one.look('abc')).toBe(2);
  });

  test('a read that took longer than the lifetime of a fence is not cached', async () => {
    one.cache.isDeaf = true;
    const release = world.hold('abc');
    const slow = one.look('abc');
    await settle();
    world.manualClock.advance(5_000);
    release();
    await slow;
    await settle();
    expect(one.finder).toMatchObject({ fills: 0, fillsRefused: 0 });
    expect(await other.cache.get('abc')).toBeUndefined();
  });

  test('a new link is cached before its first visit, if configured', async () => {
    await world.create('fresh', { origin: 'generated' });
    one.finder.keep(sampleLink('fresh'));
    await settle();
    expect(await other.look('fresh')).toBe(1);
    expect(world.reads).toEqual([]);
  });

  describe('a replica', () => {
    test('answers for links that did not change recently, and the store is asked about those it lacks', async () => {
      world.near = async code => (code === 'abc' ? sampleLink('abc', { version: 1 }) : undefined);
      const near = await world.start();
      expect(await near.look('abc')).toBe(1);
      expect(world.reads).toEqual([]);
      expect(await near.look('none')).toBe(0);
      expect(world.reads).toEqual(['none']);
      expect(near.finder).toMatchObject({ nearReads: 2, storeReads: 1 });
    });

    test('is not asked about a change that it may not know yet', async () => {
      world.near = async () => sampleLink('abc', { version: 1 });
      const near = await world.start();
      await one.change('abc');
      expect(await near.look('abc')).toBe(2);
      expect(near.finder.nearReads).toBe(0);
    });

    test('is not trusted when the link changes while it answers', async () => {
      world.near = async () => {
        await one.change('abc');
        return sampleLink('abc', { version: 1 });
      };
      const near = await world.start();
      expect(await near.look('abc')).toBe(2);
    });
  });

  describe('near the end of a record’s time', () => {
    beforeEach(async () => {
      await one.look('abc');
      world.reads.length = 0;
      // Half of the jitter: the lifetime is exactly a day.
      world.manualClock.advance(86_400_000 - 1_000);
      await settle();
    });

    test('it is refreshed at random, for every process', async () => {
      draw = Math.exp(-1.1);
      expect(await one.look('abc')).toBe(1);
      await settle();
      expect(world.reads).toEqual(['abc']);
      expect(one.finder.refreshes).toBe(1);
      draw = 0.5;
      world.manualClock.advance(10_000);
      expect(await other.look('abc')).toBe(1);
      expect(world.reads).toEqual(['abc']);
    });

    test('it is mostly left alone', async () => {
      draw = Math.exp(-0.9);
      expect(await one.look('abc')).toBe(1);
      expect(world.reads).toEqual([]);
    });

    test('it is not refreshed while the store is busy', async () => {
      const release = world.hold('busy');
      const busy = [one.look('busy'), one.look('busy')];
      await settle();
      draw = Math.exp(-1.1);
      await one.look('abc');
      expect(one.finder.refreshes).toBe(0);
      release();
      await Promise.all(busy);
    });
  });

  describe('with many cold links at once', () => {
    test('a bounded number is read, a bounded number waits, and the rest is rejected as busy', async () => {
      const releases = ['a', 'b', 'c', 'd'].map(code => world.hold(code));
      const looks = ['a', 'b', 'c', 'd', 'e'].map(code => one.look(code).catch(error => error));
      await settle();
      expect(world.reads).toEqual(['a', 'b']);
      expect(one.gate).toMatchObject({ reading: 2, waiting: 2, waits: 2, refusals: 1 });
      expect(await looks[4]).toBeInstanceOf(Problem);
      expect(((await looks[4]) as Problem).code).toBe('overloaded');
      for (const release of releases) release();
      expect(await Promise.all(looks.slice(0, 4))).toEqual([0, 0, 0, 0]);
      expect(world.reads).toEqual(['a', 'b', 'c', 'd']);
      expect(one.gate).toMatchObject({ reading: 0, waiting: 0 });
    });

    test('one that was just made is found while too many reads wait for a store that hangs', async () => {
      const releases = ['a', 'b', 'c', 'd'].map(code => world.hold(code));
      const looks = ['a', 'b', 'c', 'd'].map(code => one.look(code));
      await settle();
      world.newLinks.set('fresh', sampleLink('fresh'));
      expect(await one.look('fresh')).toBe(1);
      await expect(one.look('unknown')).rejects.toThrow('Too many links are being looked up');
      for (const release of releases) release();
      await Promise.all(looks);
    });

    test('waiting has a timeout, and a read that times out leaves no trace', async () => {
      const releases = ['a', 'b'].map(code => world.hold(code));
      const looks = ['a', 'b', 'c'].map(code => one.look(code).catch(error => error));
      await settle();
      world.manualClock.advance(1_000);
      expect(await looks[2]).toBeInstanceOf(Problem);
      for (const release of releases) release();
      await Promise.all(looks);
      expect(one.gate).toMatchObject({ reading: 0, waiting: 0 });
      expect(await one.look('d')).toBe(0);
    });

    test('a failed read frees its slot too', async () => {
      world.isStoreDown = true;
      await Promise.all(['a', 'b', 'c', 'd'].map(code => one.look(code).catch(() => undefined)));
      world.isStoreDown = false;
      expect(one.gate.reading).toBe(0);
      expect(await one.look('abc')).toBe(1);
    });
  });
});

const lifetimes = {
  usualMs: 1_000,
  newMs: 2_000,
  popularMs: 3_000,
  customMs: 4_000,
  expiredMs: 5_000,
  negativeMs: 6_000,
};
const dayMs = 86_400_000;
const randomOf = (draw: number) => ({ float: () => draw, bytes: (length: number) => new Uint8Array(length) });
const subject = (overrides: Partial<Link>, rest: Partial<LifetimeSubject> = {}): LifetimeSubject => ({
  link: sampleLink('abc', overrides),
  isPopular: false,
  now: samplesStart + dayMs,
  ...rest,
});

describe('the lifetime in the shared cache', () => {
  test.each<[string, LifetimeSubject, number]>([
    ['of no link', { link: undefined, isPopular: true, now: samplesStart }, 6_000],
    ['of a link like any other', subject({}), 1_000],
    ['of one made within a day', subject({}, { now: samplesStart + dayMs - 1 }), 2_000],
    ['of one that is asked for at its end', subject({ origin: 'custom' }, { isPopular: true }), 3_000],
    ['of a custom alias', subject({ origin: 'custom' }), 4_000],
    ['of one that expired', subject({ expiresAt: samplesStart + dayMs }, { isPopular: true }), 5_000],
    ['of one that will expire', subject({ expiresAt: samplesStart + dayMs + 1 }), 1_000],
    ['of one that was switched off', subject({ status: 'disabled', origin: 'custom' }), 5_000],
    ['of one that was deleted', subject({ status: 'deleted' }), 5_000],
    ['of one that carries a warning', subject({ status: 'quarantined' }), 1_000],
  ])('%s is set by its kind', (_kind, of, expectedMs) => {
    expect(lifetimeOf(of, lifetimes, randomOf(0.5))).toBe(expectedMs);
  });

  test('varies by up to a tenth in either direction', () => {
    expect(lifetimeOf(subject({}), lifetimes, randomOf(0))).toBe(900);
    expect(lifetimeOf(subject({}), lifetimes, randomOf(0.999_999))).toBeCloseTo(1_100, 2);
  });
});
