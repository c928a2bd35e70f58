import { describe, expect, test } from 'bun:test';
import type { Redis } from '../engines/redis/redis.ts';
import type { Clicks } from './clicks.ts';
import { type EngineHealthParts, engineMetrics } from './engine-health.ts';

const onServers = {
  links: 'postgres://db/terse',
  stream: 'kafka://k:9092/clicks',
  stats: 'clickhouse://c:8123/terse',
};
const embedded = { links: 'sqlite', stream: 'embedded', stats: 'sqlite' };

const redisWith = (serversAway: number) => ({ figures: { serversAway } }) as Pick<Redis, 'figures'>;
const clicksWith = (latest: object) => ({ latest }) as Pick<Clicks, 'latest'>;

/** Each engine that is told of, and whether it is up. */
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
  test('tells of those in use only, under the name of what they are', () => {
    expect(health({})).toEqual({ 'links sqlite': 1 });
    const clicks = clicksWith({ thread: { isStreamAway: false }, counting: { isWarehouseAway: false } });
    expect(health({ config: onServers, redis: redisWith(0), clicks })).toEqual({
      'links postgres': 1,
      'cache redis': 1,
      'stream kafka': 1,
      'stats clickhouse': 1,
    });
  });

  test.each([
    ['the store that has been silent', { storeSilentMs: 5_000 }, 'links sqlite'],
    ['Redis of which a server is away', { redis: redisWith(1) }, 'cache redis'],
    [
      'the stream that could not be written',
      { clicks: clicksWith({ thread: { isStreamAway: true, lagMs: 0 } }) },
      'stream embedded',
    ],
    [
      'the counts that could not be written',
      { clicks: clicksWith({ thread: { isStreamAway: false, lagMs: 400 } }) },
      'stats sqlite',
    ],
    [
      'the warehouse that refuses',
      { config: onServers, clicks: clicksWith({ counting: { isWarehouseAway: true } }) },
      'stats clickhouse',
    ],
  ] as const)('says 0 of %s, and of no other', (_what, parts, engine) => {
    const { [engine]: own, ...others } = health(parts);
    expect(own).toBe(0);
    expect(new Set(Object.values(others))).not.toContain(0);
  });

  test('tells how much of the pool is in use where the store has one', () => {
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
