import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test';
import { describeWithEngine } from '../../../test/kit/engines/describe-with-engine.ts';
import { type RedisEngine, startRedis } from '../../../test/kit/engines/redis.ts';
import { type RedisClusterEngine, startRedisCluster } from '../../../test/kit/engines/redis-cluster.ts';
import { askRedis } from '../../../test/kit/engines/redis-question.ts';
import { until } from '../../../test/kit/until.ts';
import { systemClock } from '../../base/clock.ts';
import { openRedis } from './open.ts';
import { type Redis, RedisUnavailable } from './redis.ts';

const minuteMs = 60_000;
const answerOf = (call: Promise<unknown>): Promise<unknown> => call.catch(error => error);

interface Watched {
  readonly redis: Redis;
  readonly events: string[];
}

async function watch(url: string): Promise<Watched> {
  const redis = openRedis(url, { clock: systemClock });
  const events: string[] = [];
  redis.onAvailable(() => events.push('available'));
  redis.onDown(() => events.push('down'));
  await until('Redis', () => redis.isAvailable);
  return { redis, events };
}

describeWithEngine(
  'redis',
  'a Redis that suffers',
  () => {
    let engine: RedisEngine;
    let redis: Redis;
    let events: string[];
    beforeAll(async () => {
      engine = await startRedis();
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      ({ redis, events } = await watch(engine.url));
      events.length = 0;
    });
    afterEach(async () => {
      await redis.close();
      await engine.restart();
    });

    test('is left alone after a few calls without an answer, and used again when it goes on', async () => {
      await redis.set('key', 'kept', minuteMs);
      engine.pause();
      await until('the end of patience', async () => {
        expect(await answerOf(redis.get('key', 20))).toBeInstanceOf(RedisUnavailable);
        return !redis.isAvailable;
      });
      const { failures, refusals } = redis.figures;
      expect(failures).toBeLessThanOrEqual(3);
      expect(await answerOf(redis.get('key', minuteMs))).toBeInstanceOf(RedisUnavailable);
      expect(redis.figures).toMatchObject({ failures, refusals: refusals + 1, serversDown: 1 });
      engine.resume();
      await until('its return', () => redis.isAvailable);
      expect(await redis.get('key', 5_000)).toBe('kept');
      expect(events).toEqual(['down', 'available']);
    });

    test('is noticed to be down and up again without any call', async () => {
      engine.pause();
      await until('the pause to be noticed', () => !redis.isAvailable);
      engine.resume();
      await until('its return', () => redis.isAvailable);
      await engine.kill();
      await until('the end to be noticed', () => !redis.isAvailable);
      await engine.restart();
      await until('its return', () => redis.isAvailable);
      expect(events).toEqual(['down', 'available', 'down', 'available']);
    });

    test('reports its return before it is used', async () => {
      await redis.set('order', 'x', minuteMs);
      let calls = 0;
      const seen: number[] = [];
      redis.onAvailable(() => seen.push(calls));
      await engine.kill();
      await until('the end to be noticed', () => !redis.isAvailable);
      const restarted = engine.restart();
      await until('a first answer', async () => {
        const answer = await answerOf(redis.get('order', 5_000));
        if (answer === 'x') calls += 1;
        return calls > 0;
      });
      await restarted;
      expect(seen).toEqual([0]);
    });

    test('may go down and return any number of times', async () => {
      for (let n = 0; n < 3; n += 1) {
        await engine.kill();
        await until('the end to be noticed', () => !redis.isAvailable);
        await engine.restart();
        await until('its return', () => redis.isAvailable);
        await redis.set('again', String(n), minuteMs, 5_000);
        expect(await redis.get('again', 5_000)).toBe(String(n));
      }
    });

    test('may be there only later', async () => {
      await engine.kill();
      const early = openRedis(engine.url, { clock: systemClock });
      expect(await answerOf(early.get('x'))).toBeInstanceOf(RedisUnavailable);
      await engine.restart();
      await until('its start', () => early.isAvailable);
      await early.close();
    });

    test('is received from again after its subscribers were disconnected', async () => {
      const heard: string[] = [];
      redis.subscribe('news', message => heard.push(message));
      await until('the subscription', () => redis.figures.isSubscribed);
      await askRedis(engine.url, 'CLIENT KILL TYPE pubsub');
      await until('the cut', () => !redis.figures.isSubscribed);
      await redis.publish('news', 'lost', 5_000);
      await until('the subscription', () => redis.figures.isSubscribed);
      await redis.publish('news', 'heard', 5_000);
      await until('the message', () => heard.length > 0);
      expect(heard).toEqual(['heard']);
    });

    test('is received from again after it was paused or restarted', async () => {
      const heard: string[] = [];
      redis.subscribe('news', message => heard.push(message));
      const isWhole = (): boolean => redis.isAvailable && redis.figures.isSubscribed;
      await until('the subscription', isWhole);
      engine.pause();
      await until('the pause to be noticed', () => !redis.isAvailable && !redis.figures.isSubscribed);
      engine.resume();
      await until('its return', isWhole);
      await redis.publish('news', 'after the pause', 5_000);
      // A server that is killed takes with it what it has not sent yet.
      await until('the first message', () => heard.length === 1);
      await engine.kill();
      await until('the end to be noticed', () => !redis.isAvailable && !redis.figures.isSubscribed);
      await engine.restart();
      await until('its return', isWhole);
      await redis.publish('news', 'after the restart', 5_000);
      await until('the messages', () => heard.length === 2);
      expect(heard).toEqual(['after the pause', 'after the restart']);
    });

    test('is not used while it follows another', async () => {
      await askRedis(engine.url, 'REPLICAOF 127.0.0.1 1');
      await until('the change to be noticed', () => !redis.isAvailable);
      await askRedis(engine.url, 'REPLICAOF NO ONE');
      await until('its return', () => redis.isAvailable);
    });
  },
  { own: true },
);

describeWithEngine(
  'redis-cluster',
  'a Redis Cluster that suffers',
  () => {
    let engine: RedisClusterEngine;
    let redis: Redis;
    let events: string[];
    beforeAll(async () => {
      // Otherwise a cluster that has lost one server refuses the keys of all.
      engine = await startRedisCluster({ settings: { 'cluster-require-full-coverage': 'no' } });
    });
    afterAll(() => engine.stop());
    beforeEach(async () => {
      await engine.untilHealthy();
      ({ redis, events } = await watch(engine.url));
      events.length = 0;
    });
    afterEach(async () => {
      await redis.close();
      for (const node of engine.nodes) node.resume();
    });

    /** One key of every server. */
    const keys = (): readonly string[] => redis.keyOnEach('key');

    test.each(['kill', 'pause'] as const)(
      'loses the keys of one server alone, until another takes its place (%s)',
      async how => {
        const heard: string[] = [];
        redis.subscribe('news', message => heard.push(message));
        for (const key of keys()) await redis.set(key, 'kept', minuteMs, 5_000);
        const [dead = '', ...alive] = keys();
        const primary = await engine.primaryOf(dead);
        if (how === 'kill') await primary.kill();
        else primary.pause();
        await until('the loss to be noticed', () => events.includes('down'));
        for (const key of alive) expect(await redis.get(key, 5_000)).toBe('kept');
        await until('the successor', async () => {
          const answer = await answerOf(redis.set(dead, 'written', minuteMs, 5_000));
          return redis.isAvailable && answer === undefined;
        });
        expect(events).toContain('available');
        await until('someone who listens', () => redis.figures.isSubscribed);
        // A message that is published while the subscription moves to another server is lost.
        await until('the message', async () => {
          await answerOf(redis.publish('news', 'heard', 5_000));
          return heard.includes('heard');
        });
        if (how === 'kill') await primary.restart();
        else primary.resume();
        await engine.untilHealthy();
        // For a moment after its return the old one may believe that nothing has happened.
        await until('agreement', async () => (await answerOf(redis.get(dead, 5_000))) === 'written');
      },
    );

    test('finds a successor that was chosen without a fault, and reports that it may have lost data', async () => {
      const [moved = ''] = keys();
      await redis.set(moved, 'kept', minuteMs, 5_000);
      const primary = await engine.primaryOf(moved);
      const info = await askRedis(primary.url, 'INFO replication');
      const port = Number(/slave0:ip=[^,]+,port=(\d+)/.exec(info)?.[1]);
      await until('another primary', async () => {
        await askRedis(`redis://127.0.0.1:${port}`, 'CLUSTER FAILOVER');
        return (await engine.primaryOf(moved)).port === port;
      });
      await until('word of it', () => events.includes('available'));
      await until('a write', async () => (await answerOf(redis.set(moved, 'x', minuteMs))) === undefined);
    });
  },
  { own: true },
);
