import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../test/kit/engines/redis.ts';
import { sharedRedisCluster } from '../../../test/kit/engines/redis-cluster.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { openRedis } from '../../engines/redis/open.ts';
import type { Redis } from '../../engines/redis/redis.ts';
import { type CacheHarness, linkCacheConformance } from '../cache.conformance.ts';
import { createRedisCache, decodeValue } from './redis.ts';

/** Long enough for hundreds of calls on a busy machine. */
const fenceMs = 60_000;
const briefFenceMs = 1_100;
/** Generous, because a busy machine is not a fault of the server. */
const deadlineMs = 10_000;
const patient = { deadlineMs, readDeadlineMs: deadlineMs };

async function open(url: string): Promise<CacheHarness & { readonly redis: Redis; readonly name: string }> {
  const name = Buffer.from(systemRandom.bytes(8)).toString('hex');
  const options = { clock: systemClock, timeoutMs: deadlineMs };
  const [redis, another] = [openRedis(url, options), openRedis(url, options)];
  await until('Redis', () => redis.isAvailable && another.isAvailable);
  return {
    redis,
    name,
    cache: createRedisCache(redis, { name, fenceMs, ...patient }),
    other: createRedisCache(another, { name, fenceMs, ...patient }),
    brief: createRedisCache(redis, { name, fenceMs: briefFenceMs, ...patient }),
    waitForFences: () => Bun.sleep(briefFenceMs + 200),
    untilListening: () =>
      until('listeners', () => redis.figures.isSubscribed && another.figures.isSubscribed),
    untilReceived: isReceived => until('the messages', isReceived),
    dispose: async () => {
      await redis.close();
      await another.close();
    },
  };
}

describeWithEngine('redis', 'with Redis', () => {
  linkCacheConformance('Redis', async () => open((await sharedRedis()).url));

  test('a value that cannot be parsed is a miss, and is replaced', async () => {
    const { redis, name, cache, dispose } = await open((await sharedRedis()).url);
    await redis.set(`${name}/odd`, 'what is this', 60_000, deadlineMs);
    expect(await cache.get('odd')).toBeUndefined();
    expect(await cache.fill('odd', undefined, 60_000)).toBe(true);
    expect(await cache.get('odd')).toMatchObject({ link: undefined });
    await dispose();
  });
});

describeWithEngine('redis-cluster', 'with Redis Cluster', () => {
  linkCacheConformance('Redis Cluster', async () => open((await sharedRedisCluster()).url));

  test('the checkpoint is on every server, and together they are only as good as the worst', async () => {
    const { redis, name, cache, dispose } = await open((await sharedRedisCluster()).url);
    await cache.writeCheckpoint(100, 7);
    const keys = redis.keyOnEach(`${name}:mark`);
    expect(keys.length).toBeGreaterThan(1);
    const { nowMs } = await cache.readCheckpoint();
    await redis.set(keys[0]!, `90 ${nowMs - 50_000} 9`, 60_000, deadlineMs);
    const { checkpoint } = await cache.readCheckpoint();
    expect(checkpoint).toMatchObject({ seq: 90, trustFromMs: 9 });
    expect(checkpoint!.ageMs).toBeGreaterThanOrEqual(50_000);
    await dispose();
  });
});

test('a record of another shape is a miss', () => {
  expect(decodeValue('x', '1 2 3 [4]')).toBeUndefined();
  expect(decodeValue('x', '1 2 3 {"new":"format"}')).toBeUndefined();
  expect(decodeValue('x', '')).toBeUndefined();
});

test('fields that a newer version has added behind ours are not read', () => {
  const record = JSON.stringify([
    'https://example.com/',
    0,
    5,
    0,
    null,
    null,
    null,
    [],
    null,
    0,
    ...Array(20).fill(7),
  ]);
  expect(decodeValue('x', `1 2 3 ${record}`)?.link).toMatchObject({ code: 'x', version: 1, maxClicks: null });
});

test('a status that a newer version has added is one that redirects nobody', () => {
  expect(decodeValue('x', '1 2 3 ["https://example.com/",992,5,0]')?.link?.status).toBe('disabled');
});
