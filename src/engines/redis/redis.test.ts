import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { sharedRedis } from '../../../test/kit/engines/redis.ts';
import { sharedRedisCluster } from '../../../test/kit/engines/redis-cluster.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { systemRandom } from '../../base/random.ts';
import { readSlots, slotOf } from './cluster.ts';
import { openRedis } from './open.ts';
import { type Redis, RedisRefusal, RedisUnavailable, redisScript } from './redis.ts';

/** Generous, because a busy machine is no fault of the server. */
const deadlineMs = 10_000;
const options = { clock: systemClock, timeoutMs: deadlineMs };

const engines = [
  ['redis', 'Redis', sharedRedis],
  ['redis-cluster', 'Redis Cluster', sharedRedisCluster],
] as const;

for (const [engine, title, shared] of engines) {
  describeWithEngine(engine, title, () => {
    let redis: Redis;
    let prefix: string;
    beforeAll(async () => {
      prefix = Buffer.from(systemRandom.bytes(8)).toString('hex');
      redis = openRedis((await shared()).url, options);
      await until('Redis', () => redis.isAvailable);
    });
    afterAll(() => redis.close());

    test('gives back what was set, as it was', async () => {
      const value = 'ä “quoted” 😀\r\n\0';
      await redis.set(`${prefix}:value`, value, 60_000, deadlineMs);
      expect(await redis.get(`${prefix}:value`, deadlineMs)).toBe(value);
      expect(await redis.get(`${prefix}:nothing`, deadlineMs)).toBeUndefined();
    });

    test('calls made together get each their own answer, in any number', async () => {
      const keys = Array.from({ length: 300 }, (_, n) => `${prefix}:together:${n}`);
      await Promise.all(keys.map((key, n) => redis.set(key, `value ${n}`, 60_000, deadlineMs)));
      const wanted = [...keys.toReversed(), `${prefix}:together:none`, keys[7]!, keys[7]!];
      const got = await Promise.all(wanted.map(key => redis.get(key, deadlineMs)));
      expect(got).toEqual([...keys.map((_, n) => `value ${299 - n}`), undefined, 'value 7', 'value 7']);
    });

    test('a key that holds no text is no key with a value, and does not disturb those beside it', async () => {
      const list = redisScript(`return redis.call('RPUSH', KEYS[1], 'x')`);
      await redis.run(list, [`${prefix}:list`], [], deadlineMs);
      await redis.set(`${prefix}:text`, 'text', 60_000, deadlineMs);
      const odd = redis.get(`${prefix}:list`, deadlineMs).catch(error => error.code);
      const [oddly, text] = await Promise.all([odd, redis.get(`${prefix}:text`, deadlineMs)]);
      expect([undefined, 'WRONGTYPE']).toContain(oddly);
      expect(text).toBe('text');
    });

    test('a script over keys runs once for each call, also one that the server has never seen', async () => {
      const script = redisScript(`
        local replies = {}
        for place, key in ipairs(KEYS) do
          replies[place] = key .. ' ' .. ARGV[place * 2 - 1] .. ' ' .. ARGV[place * 2]
        end
        return replies -- ${prefix}`);
      const run = (n: number) => redis.runEach(script, `${prefix}:each:${n}`, [n, `v${n}`], deadlineMs);
      for (const count of [1, 200]) {
        const numbers = Array.from({ length: count }, (_, n) => n);
        expect(await Promise.all(numbers.map(run))).toEqual(
          numbers.map(n => `${prefix}:each:${n} ${n} v${n}`),
        );
      }
    });

    test('keeps no value beyond its time', async () => {
      await redis.set(`${prefix}:short`, 'x', 1, deadlineMs);
      const isGone = async () => (await redis.get(`${prefix}:short`, deadlineMs)) === undefined;
      await until('the end of the value', isGone);
    });

    test('runs a script that the server has never seen, and one that it knows', async () => {
      const script = redisScript(`return {KEYS[1], ARGV[1], tonumber(ARGV[2]) + 1, false} -- ${prefix}`);
      const run = () => redis.run(script, [`${prefix}:key`], ['a', 41], deadlineMs);
      expect(await run()).toEqual([`${prefix}:key`, 'a', 42, null]);
      expect(await run()).toEqual([`${prefix}:key`, 'a', 42, null]);
    });

    test('tells an error of the server from a server that is down', async () => {
      const script = redisScript(`return redis.error_reply('OUCH it hurts')`);
      const refused = redis.run(script, [`${prefix}:key`], [], deadlineMs);
      expect(await refused.catch(error => error)).toBeInstanceOf(RedisRefusal);
      expect(await refused.catch(error => error.code)).toBe('OUCH');
      expect(redis.isAvailable).toBe(true);
    });

    test('delivers messages from any connection to every subscriber', async () => {
      const other = openRedis((await shared()).url, options);
      const heard: string[] = [];
      redis.subscribe(`${prefix}:news`, message => heard.push(message));
      other.subscribe(`${prefix}:news`, message => heard.push(message));
      await until(
        'both',
        () => redis.figures.isSubscribed && other.figures.isSubscribed && other.isAvailable,
      );
      await redis.publish(`${prefix}:news`, 'one', deadlineMs);
      await other.publish(`${prefix}:news`, 'two', deadlineMs);
      await until('the messages', () => heard.length === 4);
      expect(heard.sort()).toEqual(['one', 'one', 'two', 'two']);
      await other.close();
    });

    test('gives the time of the server', async () => {
      const before = systemClock.now();
      expect(Math.abs((await redis.time(deadlineMs)) - before)).toBeLessThan(60_000);
    });

    test('names a key for every server', async () => {
      const keys = redis.keyOnEach(`${prefix}:mark`);
      expect(keys).toHaveLength(redis.figures.servers);
      for (const key of keys) await redis.set(key, key, 60_000, deadlineMs);
      for (const key of keys) expect(await redis.get(key, deadlineMs)).toBe(key);
    });

    test('refuses calls once it is closed', async () => {
      const closed = openRedis((await shared()).url, options);
      await until('Redis', () => closed.isAvailable);
      await closed.close();
      expect(await closed.get('x').catch(error => error)).toBeInstanceOf(RedisUnavailable);
      expect(closed.isAvailable).toBe(false);
    });
  });
}

describe('a slot of a Cluster', () => {
  test('is the one that Redis computes', () => {
    expect(slotOf('123456789')).toBe(0x31c3);
    expect(slotOf('')).toBe(0);
    expect(slotOf('foo')).toBe(12_182);
  });

  test('follows from the tag alone where there is one', () => {
    expect(slotOf('a{user}b')).toBe(slotOf('user'));
    expect(slotOf('{user}{other}')).toBe(slotOf('user'));
    expect(slotOf('a{}b')).not.toBe(slotOf(''));
    expect(slotOf('}a{user')).not.toBe(slotOf('user'));
  });

  test('belongs to the server that was asked, where that one does not know its own host', () => {
    const asked = { host: 'here', port: 1 };
    const reply = [
      [0, 5, ['', 7000, 'id'], ['10.0.0.2', 7001, 'id']],
      [6, 9, ['10.0.0.3', 7002, 'id']],
    ];
    expect(readSlots(reply, asked)).toEqual([
      { from: 0, to: 5, primary: { host: 'here', port: 7000 } },
      { from: 6, to: 9, primary: { host: '10.0.0.3', port: 7002 } },
    ]);
    expect(readSlots('nonsense', asked)).toEqual([]);
  });
});
