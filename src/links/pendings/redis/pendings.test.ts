import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../../test/kit/engines/redis.ts';
import { sharedRedisCluster } from '../../../../test/kit/engines/redis-cluster.ts';
import { until } from '../../../../test/kit/until.ts';
import { systemClock } from '../../../base/clock.ts';
import { openRedis } from '../../../engines/redis/open.ts';
import type { Redis } from '../../../engines/redis/redis.ts';
import { type PendingHarness, pendingLinksConformance } from '../../pending.conformance.ts';
import { encodeQueuedLink } from '../../queued-link.ts';
import { sampleLink } from '../../store-samples.ts';
import { createRedisPendings } from './pendings.ts';

const clock = systemClock;

/** Generous, because a busy machine is not the server's fault. */
const deadlineMs = 10_000;

async function openReady(url: string): Promise<Redis> {
  const redis = openRedis(url, { clock, timeoutMs: deadlineMs });
  await until('Redis', () => redis.isAvailable);
  return redis;
}

const patiently = (redis: Redis): Parameters<typeof createRedisPendings>[0] => ({
  get: key => redis.get(key, deadlineMs),
  set: (key, value, ttlMs) => redis.set(key, value, ttlMs, deadlineMs),
  run: (script, keys, values) => redis.run(script, keys, values, deadlineMs),
  onAvailable: listener => redis.onAvailable(listener),
});

async function open(url: string): Promise<PendingHarness> {
  const name = `test-${crypto.randomUUID()}`;
  const [redis, otherRedis] = [await openReady(url), await openReady(url)];
  return {
    pendings: createRedisPendings(patiently(redis), { clock, name }),
    other: createRedisPendings(patiently(otherRedis), { clock, name }),
    now: clock.now(),
    async dispose() {
      await redis.close();
      await otherRedis.close();
    },
  };
}

describeWithEngine('redis', 'on one server', () => {
  pendingLinksConformance('Redis', async () => open((await sharedRedis()).url));

  test('a record that cannot be parsed counts as missing', async () => {
    const redis = await openReady((await sharedRedis()).url);
    const name = `test-${crypto.randomUUID()}`;
    await redis.set(`${name}:pending:broken`, '{"v":9}', 60_000, deadlineMs);
    expect(await createRedisPendings(patiently(redis), { clock, name }).find('broken')).toBeUndefined();
    await redis.close();
  });

  test('a record is the text of its message, so that a lost queue can be rebuilt from the records', async () => {
    const redis = await openReady((await sharedRedis()).url);
    const name = `test-${crypto.randomUUID()}`;
    const link = sampleLink('one', { createdAt: clock.now() });
    await createRedisPendings(patiently(redis), { clock, name }).put([link]);
    const text = await redis.get(`${name}:pending:one`, deadlineMs);
    expect(text).toBe(encodeQueuedLink(link));
    expect(text).not.toContain('\n');
    await redis.close();
  });

  test('a server that is down is not taken for an empty one', async () => {
    const redis = openRedis('redis://127.0.0.1:1', { clock });
    const pendings = createRedisPendings(redis, { clock });
    expect(await pendings.find('one').catch(String)).toContain('is down');
    await expect(pendings.put([sampleLink('one', { createdAt: clock.now() })])).rejects.toThrow('is down');
    await expect(pendings.remove(['one'])).rejects.toThrow('is down');
    await redis.close();
  });
});

describeWithEngine('redis-cluster', 'on many servers', () => {
  pendingLinksConformance('a Redis Cluster', async () => open((await sharedRedisCluster()).url));
});
