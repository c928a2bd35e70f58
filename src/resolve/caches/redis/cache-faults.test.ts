/** A change propagates through a real Redis that fails: each process meets the deadline for killing links. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { type RedisEngine, startRedis } from '../../../../test/kit/engines/redis.ts';
import { type RedisClusterEngine, startRedisCluster } from '../../../../test/kit/engines/redis-cluster.ts';
import { askRedis } from '../../../../test/kit/engines/redis-question.ts';
import { until } from '../../../../test/kit/until.ts';
import { systemClock } from '../../../base/clock.ts';
import { systemRandom } from '../../../base/random.ts';
import { openRedis } from '../../../engines/redis/open.ts';
import type { Redis } from '../../../engines/redis/redis.ts';
import { fenced, type LinkCache } from '../../cache.ts';
import { type FakeProcess, World } from '../../fake-processes.ts';
import { createRedisCache } from '../redis.ts';

/** A busy machine is not a fault of the server. */
const patient = { deadlineMs: 2_000, readDeadlineMs: 2_000 };

/** A process with a real Redis. */
interface Real extends FakeProcess<LinkCache> {
  readonly redis: Redis;
}

class RealWorld extends World {
  readonly #url: string;
  readonly #opened: Real[] = [];
  readonly name = systemRandom.bytes(8).toHex();

  constructor(url: string) {
    super({ clock: systemClock, random: systemRandom });
    this.#url = url;
  }

  async open(): Promise<Real> {
    const redis = openRedis(this.#url, { clock: systemClock });
    const process = await this.startWith(createRedisCache(redis, { name: this.name, ...patient }));
    const real = Object.assign(process, { redis });
    this.#opened.push(real);
    await until('trust', () => redis.isAvailable && redis.figures.isSubscribed && process.trust.isTrusted);
    return real;
  }

  async close(): Promise<void> {
    for (const process of this.#opened) {
      process.die();
      await process.redis.close();
    }
  }
}

async function cachedVersion({ cache }: Real, code: string): Promise<number | 'unknown'> {
  let found: number | 'unknown' = 'unknown';
  await until('an answer', async () => {
    try {
      const entry = await cache.get(code);
      found = entry === undefined || entry === fenced ? 'unknown' : (entry.link?.version ?? 0);
      return true;
    } catch {
      return false;
    }
  });
  return found;
}
const untilCached = (process: Real, code: string, version: number): Promise<void> =>
  until(`version ${version} in the cache`, async () => (await cachedVersion(process, code)) === version);

describeWithEngine(
  'redis',
  'a change that propagates through a failing Redis',
  () => {
    let engine: RedisEngine;
    let world: RealWorld;
    let one: Real;
    let other: Real;
    beforeAll(async () => {
      // After a restart it has only what it was ordered to save, however old that is.
      engine = await startRedis({ settings: { appendonly: 'no' } });
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      world = new RealWorld(engine.url);
      await world.create('abc');
      await world.create('bystander');
      one = await world.open();
      other = await world.open();
      await one.look('abc');
      await one.look('bystander');
      await untilCached(other, 'abc', 1);
      await untilCached(other, 'bystander', 1);
    });
    afterEach(async () => {
      engine.resume();
      await world.close();
      await engine.restart();
      await engine.flush();
    });
    const isBack = (...processes: Real[]): boolean =>
      processes.every(({ redis, trust }) => redis.isAvailable && trust.isTrusted && trust.owed === 0);

    test('reaches the others by message', async () => {
      expect(await other.visit('abc')).toBe(1);
      const version = await one.change('abc');
      await until('the message', () => other.invalidation.messagesReceived === 1);
      expect(await other.visit('abc')).toBe(version);
    });

    test('reaches them by the feed when no process listens, and by message again afterwards', async () => {
      await other.visit('abc');
      await askRedis(engine.url, 'CLIENT KILL TYPE pubsub');
      await one.change('abc');
      await until('the feed', async () => (await other.visit('abc')) === 2);
      await until('listeners', () => other.redis.figures.isSubscribed);
      const { messagesReceived } = other.invalidation;
      await until('a message', async () => {
        await one.change('abc');
        return other.invalidation.messagesReceived > messagesReceived;
      });
    });

    test('is made and seen while Redis hangs, and still seen when it resumes', async () => {
      await other.visit('abc');
      engine.pause();
      expect(await one.change('abc')).toBe(2);
      expect(await one.visit('abc')).toBe(2);
      await until('the feed', async () => (await other.visit('abc')) === 2);
      engine.resume();
      await until('the return', () => isBack(one, other));
      expect(await cachedVersion(one, 'abc')).toBe('unknown');
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      expect(await cachedVersion(one, 'bystander')).toBe(1);
    });

    test('is not undone by a slow read that began before it', async () => {
      const release = world.hold('slow');
      await world.create('slow');
      const slow = other.look('slow');
      await until('the read', () => world.reads.includes('slow'));
      await world.change('slow');
      expect([...(await one.trust.fence(['slow']))]).toEqual([]);
      release();
      expect(await slow).toBe(1);
      await until('the refusal', () => other.finder.fillsRefused === 1);
      expect(await cachedVersion(one, 'slow')).toBe('unknown');
    });

    test('holds when Redis starts again from an old copy of itself, which has lost the fence', async () => {
      await askRedis(engine.url, 'SAVE');
      await one.change('abc');
      expect(await cachedVersion(one, 'abc')).toBe('unknown');
      await engine.kill();
      await engine.restart();
      await until('the return', () => isBack(one, other));
      expect([await one.look('abc'), await other.look('abc')]).toEqual([2, 2]);
      expect(await cachedVersion(one, 'abc')).toBe('unknown');
      expect(await cachedVersion(one, 'bystander')).toBe(1);
    });

    test('holds when the only process that knew of it dies before announcing it', async () => {
      await until('a mark', async () => (await one.cache.readCheckpoint()).checkpoint !== undefined);
      one.die();
      other.die();
      await world.change('abc');
      expect(await cachedVersion(one, 'abc')).toBe(1);
      const alone = await world.open();
      expect(await alone.look('abc')).toBe(2);
      await until('the fence', () => alone.trust.owed === 0);
      expect(await cachedVersion(alone, 'abc')).toBe('unknown');
      expect(await cachedVersion(alone, 'bystander')).toBe(1);
    });

    test('is seen through any number of restarts', async () => {
      for (let version = 2; version <= 4; version += 1) {
        await engine.kill();
        expect(await one.change('abc')).toBe(version);
        await engine.restart();
        await until('the return', () => isBack(one, other));
        await until('the feed', async () => (await other.visit('abc')) === version);
        expect(await one.look('abc')).toBe(version);
      }
    });
  },
  { own: true },
);

describeWithEngine(
  'redis-cluster',
  'a change that propagates through a failing Redis Cluster',
  () => {
    let engine: RedisClusterEngine;
    let world: RealWorld;
    beforeAll(async () => {
      engine = await startRedisCluster({ settings: { appendonly: 'no' } });
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      await engine.untilHealthy();
      world = new RealWorld(engine.url);
    });
    afterEach(() => world.close());

    test('survives the death of the server that held it, and the rest of the cache keeps working', async () => {
      const codes = Array.from({ length: 30 }, (_, n) => `code${n}`);
      for (const code of codes) await world.create(code);
      const [one, other] = [await world.open(), await world.open()];
      for (const code of codes) await one.look(code);
      for (const code of codes) await untilCached(other, code, 1);
      const [code = ''] = codes;
      const primary = await engine.primaryOf(`${world.name}/${code}`);
      await other.visit(code);
      await primary.kill();
      expect(await one.change(code)).toBe(2);
      await until('the message or the feed', async () => (await other.visit(code)) === 2);
      expect(await one.look(code)).toBe(2);
      const { cacheHits } = other.finder;
      for (const each of codes) expect(await other.look(each)).toBe(each === code ? 2 : 1);
      expect(other.finder.cacheHits).toBeGreaterThan(cacheHits);
      await until(
        'the successor',
        () => one.redis.isAvailable && one.trust.isTrusted && other.redis.isAvailable && one.trust.owed === 0,
      );
      expect(await cachedVersion(one, code)).toBe('unknown');
      for (const each of codes) expect(await other.look(each)).toBe(each === code ? 2 : 1);
      await primary.restart();
      await engine.untilHealthy();
      expect(await one.look(code)).toBe(2);
    });
  },
  { own: true },
);
