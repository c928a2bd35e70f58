import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { startRedis } from '../../../test/kit/engines/redis.ts';
import { askRedis } from '../../../test/kit/engines/redis-question.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { createRedisLimiter } from '../../limits/limiters/redis.ts';
import { sampleLink } from '../../links/store-samples.ts';
import { createRedisCache } from '../../resolve/caches/redis.ts';
import { examineRedis } from './doctor.ts';
import { openRedis } from './open.ts';

/** The command that the documentation asks an operator to run. */
async function documentedUser(): Promise<string> {
  const document = await Bun.file(`${import.meta.dir}/../../../docs/operations/redis.md`).text();
  const [command = ''] = /^ACL SETUSER .*$/m.exec(document) ?? [];
  return command;
}

/** Generous, because a busy machine is no fault of the server. */
const deadlineMs = 10_000;

describeWithEngine(
  'redis',
  'a user of Redis with the documented rules',
  () => {
    test('set up before reads shared a command, without MGET, still reads', async () => {
      const engine = await startRedis();
      const earlier = (await documentedUser()).replace(' +mget', '');
      expect(await askRedis(engine.url, earlier)).toStartWith('+OK');
      const url = new URL(engine.url);
      url.username = 'terse';
      url.password = 'PASSWORD';
      const redis = openRedis(url.href, { clock: systemClock, timeoutMs: deadlineMs });
      try {
        await until('Redis', () => redis.isAvailable);
        await redis.set('terse/a', 'x', 60_000, deadlineMs);
        const read = () =>
          Promise.all(
            ['terse/a', 'terse/b', 'other'].map(key => redis.get(key, deadlineMs).catch(error => error.code)),
          );
        expect(await read()).toEqual(['x', undefined, 'NOPERM']);
        expect(await read()).toEqual(['x', undefined, 'NOPERM']);
      } finally {
        await redis.close();
        await engine.stop();
      }
    });

    test('can do all that a server and the doctor do, and cannot touch keys that are not Terse’s', async () => {
      const engine = await startRedis();
      expect(await askRedis(engine.url, await documentedUser())).toStartWith('+OK');
      const url = new URL(engine.url);
      url.username = 'terse';
      url.password = 'PASSWORD';
      const redis = openRedis(url.href, { clock: systemClock, timeoutMs: deadlineMs });
      try {
        await until('Redis', () => redis.isAvailable);
        const cache = createRedisCache(redis, { deadlineMs, readDeadlineMs: deadlineMs });
        const heard: string[] = [];
        cache.onMessage(message => heard.push(message));
        await until('the subscription', () => redis.figures.isSubscribed);
        const link = sampleLink('abc');
        expect(await cache.fill('abc', link, 60_000)).toBe(true);
        const [found] = await Promise.all([cache.get('abc'), cache.get('other')]);
        expect(found?.link).toEqual(link);
        const shared = await askRedis(engine.url, 'INFO commandstats');
        expect(shared).toContain('cmdstat_mget:calls=1');
        expect(await cache.fence(['abc'])).toEqual([]);
        await cache.writeCheckpoint(5, 0);
        expect((await cache.readCheckpoint()).checkpoint?.seq).toBe(5);
        await cache.publish('hello');
        await until('the message', () => heard.includes('hello'));
        const limiter = createRedisLimiter(redis, { secret: new Uint8Array(32), deadlineMs });
        const spending = { key: 'k', rate: { count: 10, periodMs: 1_000 }, capacity: 10, cost: 1 };
        expect(await limiter.take([spending], systemClock.now())).toMatchObject({ allowed: true });
        const findings = await examineRedis({ url: url.href, clock: systemClock, random: systemRandom });
        expect(findings.filter(({ verdict }) => verdict === 'fail')).toEqual([]);
        await expect(redis.set('another', 'x', 1_000, deadlineMs)).rejects.toThrow('permission');
        await expect(redis.publish('another', 'x', deadlineMs)).rejects.toThrow('permission');
      } finally {
        await redis.close();
        await engine.stop();
      }
    });
  },
  { own: true },
);
