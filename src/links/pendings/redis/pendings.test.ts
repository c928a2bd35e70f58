import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../../test/kit/engines/redis.ts';
import { sharedRedisCluster } from '../../../../test/kit/engines/redis-cluster.ts';
import { sleep, systemClock } from '../../../base/clock.ts';
import { openRedis } from '../../../engines/redis/open.ts';
import type { Redis } from '../../../engines/redis/redis.ts';
import { type PendingHarness, pendingLinksConformance } from '../../pending.conformance.ts';
import { encodeQueuedLink } from '../../queued-link.ts';
import { sampleLink } from '../../store-samples.ts';
import { createRedisPendings } from './pendings.ts';

const clock = systemClock;

async function openReady(url: string): Promise<Redis> {
  const redis = openRedis(url, { clock });
  while (!redis.isAvailable) await sleep(clock, 5);
  return redis;
}

async function open(url: string): Promise<PendingHarness> {
  const name = `test-${crypto.randomUUID()}`;
  const [redis, otherRedis] = [await openReady(url), await openReady(url)];
  return {
    pendings: createRedisPendings(redis, { clock, name }),
    other: createRedisPendings(otherRedis, { clock, name }),
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
    await redis.set(`${name}:pending:broken`, '{"v":9}', 10_000);
    expect(await createRedisPendings(redis, { clock, name }).find('broken')).toBeUndefined();
    await redis.close();
  });

  test('a record is the text of its message, so that a lost queue can be rebuilt from the records', async () => {
    const redis = await openReady((await sharedRedis()).url);
    const name = `test-${crypto.randomUUID()}`;
    const link = sampleLink('one', { createdAt: clock.now() });
    await createRedisPendings(redis, { clock, name }).put([link]);
    const text = await redis.get(`${name}:pending:one`);
    expect(text).toBe(encodeQueuedLink(link));
    expect(text).not.toContain('\n');
    await redis.close();
  });

  test('a server that is down is not taken for an empty one', async () => {
    const redis = openRedis('redis://127.0.0.1:1', { clock });
    const pendings = createRedisPendings(redis, { clock });
    expect(pendings.find('one')).rejects.toThrow('is down');
    expect(pendings.put([sampleLink('one', { createdAt: clock.now() })])).rejects.toThrow('is down');
    expect(pendings.remove(['one'])).rejects.toThrow('is down');
    await redis.close();
  });
});

describeWithEngine('redis-cluster', 'on many servers', () => {
  pendingLinksConformance('a Redis Cluster', async () => open((await sharedRedisCluster()).url));
});
