import { describe, expect, test } from 'bun:test';
import type { Clicks } from '../clicks/start.ts';
import { dutiesOf } from '../config/config.ts';
import type { Redis } from '../engines/redis/redis.ts';
import { checkReadiness, type EngineHealthParts, engineMetrics, type ReadinessOptions } from './readiness.ts';

const unreachable = { spans: () => Promise.reject(new Error('down')) };
const there = { spans: async () => [] };
const redisOf = (servers: number, serversDown: number) => ({ figures: { servers, serversDown } }) as never;

const check = (given: Partial<ReadinessOptions>) =>
  checkReadiness({
    duties: dutiesOf(['all']),
    links: there,
    codeLength: 7,
    redis: undefined,
    clicks: undefined,
    isolation: { isIsolated: false, servesMemory: false },
    ...given,
  });

describe('a process', () => {
  test('whose store answers is ready, whatever else is down, and reports what is', async () => {
    const clicks = {
      latest: {
        thread: { isStreamDown: true } as never,
        counting: { isWarehouseDown: true } as never,
        drift: undefined,
      } as never,
    };
    expect(await check({ redis: redisOf(3, 3), clicks })).toEqual({
      isReady: true,
      parts: { links: true, cache: false, stream: false, stats: false },
    });
  });

  test('names no engine that it does not use', async () => {
    expect(await check({})).toEqual({ isReady: true, parts: { links: true } });
  });

  test('without store and cache is not ready, in any role', async () => {
    for (const role of ['all', 'redirect', 'api', 'worker'] as const) {
      const { isReady, parts } = await check({
        duties: dutiesOf([role]),
        links: unreachable,
        redis: redisOf(1, 1),
      });
      expect([role, isReady, parts]).toEqual([role, false, { links: false, cache: false }]);
    }
  });

  test('that is isolated stays ready to redirect while it may serve what it knows, and says so', async () => {
    const isolated = { links: unreachable, redis: redisOf(1, 1) };
    for (const [role, servesMemory, isReady] of [
      ['redirect', true, true],
      ['redirect', false, false],
      ['api', true, false],
    ] as const) {
      expect(
        await check({ ...isolated, duties: dutiesOf([role]), isolation: { isIsolated: true, servesMemory } }),
      ).toEqual({ isReady, parts: { links: false, freshness: false, cache: false } });
    }
  });

  test('that redirects stays ready while Redis or a replica knows links; one that does not redirect does not', async () => {
    const replica = { ...unreachable, isNearUsable: () => true };
    for (const [role, isReady] of [
      ['all', true],
      ['redirect', true],
      ['api', false],
      ['worker', false],
    ] as const) {
      const duties = dutiesOf([role]);
      expect((await check({ duties, links: unreachable, redis: redisOf(6, 5) })).isReady).toBe(isReady);
      expect(await check({ duties, links: replica })).toEqual({
        isReady,
        parts: { links: false, replica: true },
      });
    }
  });
});

const onServers = {
  links: 'postgres://db/terse',
  stream: 'kafka://k:9092/clicks',
  stats: 'clickhouse://c:8123/terse',
};
const embedded = { links: 'sqlite', stream: 'embedded', stats: 'sqlite' };

const redisWith = (serversDown: number) => ({ figures: { serversDown } }) as Pick<Redis, 'figures'>;
const clicksWith = (latest: object) => ({ latest }) as Pick<Clicks, 'latest'>;

/** Each reported engine, and whether it is up. */
function health(parts: Partial<EngineHealthParts>): Record<string, number> {
  const all = {
    config: embedded,
    stores: {},
    storeSilentMs: 0,
    redis: undefined,
    clicks: undefined,
    ...parts,
  };
  const [up] = engineMetrics(all);
  return Object.fromEntries(
    up!.samples.map(({ labels, value }) => [`${labels?.part} ${labels?.engine}`, value]),
  );
}

describe('the health of engines', () => {
  test('reports only those in use, by the name of the engine', () => {
    expect(health({})).toEqual({ 'links sqlite': 1 });
    const clicks = clicksWith({ thread: { isStreamDown: false }, counting: { isWarehouseDown: false } });
    expect(health({ config: onServers, redis: redisWith(0), clicks })).toEqual({
      'links postgres': 1,
      'cache redis': 1,
      'stream kafka': 1,
      'stats clickhouse': 1,
    });
  });

  test.each([
    ['the store that has been silent', { storeSilentMs: 5_000 }, 'links sqlite'],
    ['Redis with a server down', { redis: redisWith(1) }, 'cache redis'],
    [
      'the stream that could not be written',
      { clicks: clicksWith({ thread: { isStreamDown: true, lagMs: 0 } }) },
      'stream embedded',
    ],
    [
      'the counts that could not be written',
      { clicks: clicksWith({ thread: { isStreamDown: false, lagMs: 400 } }) },
      'stats sqlite',
    ],
    [
      'the warehouse that refuses',
      { config: onServers, clicks: clicksWith({ counting: { isWarehouseDown: true } }) },
      'stats clickhouse',
    ],
  ] as const)('reports 0 for %s, and for no other', (_what, parts, engine) => {
    const { [engine]: own, ...others } = health(parts);
    expect(own).toBe(0);
    expect(new Set(Object.values(others))).not.toContain(0);
  });

  test('reports how much of the pool is in use where the store has one', () => {
    const pool = () => ({ inUse: 3, size: 10 });
    const shown = engineMetrics({
      config: embedded,
      stores: { pool },
      storeSilentMs: 0,
      redis: undefined,
      clicks: undefined,
    });
    expect(shown.slice(1).map(({ name, samples }) => [name, samples[0]?.value])).toEqual([
      ['terse_store_pool_size', 10],
      ['terse_store_pool_in_use', 3],
    ]);
  });
});
