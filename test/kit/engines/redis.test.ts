import { afterAll, beforeAll, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { describeWithEngine } from './describe-with-engine.ts';
import { type RedisEngine, startRedis } from './redis.ts';
import { type RedisClusterEngine, startRedisCluster } from './redis-cluster.ts';
import { askRedis } from './redis-question.ts';

const valueAt = async (url: string, key: string): Promise<string> =>
  (await askRedis(url, `GET ${key}`)).split('\r\n')[1] ?? '';

describeWithEngine(
  'redis',
  'a Redis of its own',
  () => {
    let engine: RedisEngine;
    beforeAll(async () => {
      engine = await startRedis({ settings: { maxmemory: '64mb' } });
    });
    afterAll(() => engine.stop());

    test('uses the given settings', async () => {
      expect(await askRedis(engine.url, 'CONFIG GET maxmemory')).toContain(String(64 * 1024 * 1024));
    });

    test('keeps at the same address what it acknowledged when it is killed', async () => {
      await askRedis(engine.url, 'SET kept 1');
      await engine.kill();
      expect(askRedis(engine.url, 'PING')).rejects.toThrow();
      await engine.restart();
      expect(await valueAt(engine.url, 'kept')).toBe('1');
    });

    test('answers nothing while it is paused and continues afterwards', async () => {
      engine.pause();
      expect(askRedis(engine.url, 'GET kept', 300)).rejects.toThrow('does not answer');
      await Bun.sleep(400);
      engine.resume();
      expect(await valueAt(engine.url, 'kept')).toBe('1');
    });

    test('is restarted also out of a pause', async () => {
      engine.pause();
      await engine.restart();
      expect(await valueAt(engine.url, 'kept')).toBe('1');
    });

    test('shares nothing with another one', async () => {
      const other = await startRedis();
      expect(await valueAt(other.url, 'kept')).toBe('');
      await other.flush();
      await other.stop();
      expect(await valueAt(engine.url, 'kept')).toBe('1');
    });

    test('leaves nothing behind', async () => {
      const temporary = await startRedis();
      const folder = (await askRedis(temporary.url, 'CONFIG GET dir')).split('\r\n')[4]!;
      expect(existsSync(folder)).toBe(true);
      await temporary.stop();
      expect(existsSync(folder)).toBe(false);
    });
  },
  { own: true },
);

describeWithEngine(
  'redis-cluster',
  'a Redis Cluster of its own',
  () => {
    let cluster: RedisClusterEngine;
    beforeAll(async () => {
      cluster = await startRedisCluster();
    });
    afterAll(() => cluster.stop());

    test('has three primaries, and each key at one of them', async () => {
      const primaries = await cluster.primaries();
      expect(primaries).toHaveLength(3);
      const holder = await cluster.primaryOf('kept');
      expect(primaries).toContain(holder);
      expect(await askRedis(holder.url, 'SET kept 1')).toBe('+OK\r\n');
      const [elsewhere] = primaries.filter(node => node !== holder);
      expect(await askRedis(elsewhere!.url, 'GET kept')).toStartWith('-MOVED');
    });

    test('replaces a primary that is killed by its replica, which has its keys', async () => {
      const killed = await cluster.primaryOf('kept');
      await killed.kill();
      await cluster.untilHealthy();
      const holder = await cluster.primaryOf('kept');
      expect(holder).not.toBe(killed);
      expect(await valueAt(holder.url, 'kept')).toBe('1');
      await killed.restart();
      await cluster.untilHealthy();
      expect(await askRedis(killed.url, 'ROLE')).toContain('slave');
    });

    test('forgets every key', async () => {
      await cluster.flush();
      expect(await valueAt((await cluster.primaryOf('kept')).url, 'kept')).toBe('');
    });
  },
  { own: true },
);
