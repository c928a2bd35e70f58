/**
 * Results in the Redis that machines share, each under a key of its own that ends by itself. Turns go by the server's
 * clock, because machines need not agree on theirs. A Redis that forgets all of it costs one round of checks.
 */
import { deadlineMsDefault, type Redis, redisScript } from '../../../engines/redis/redis.ts';
import type { HealthRecord } from '../../health.ts';
import { type HealthStore, type WalkPosition, walkStart } from '../../store.ts';

/** Two keys that every Cluster keeps together: whose turn it is, which ends by itself, and how far the walk has come. */
const takeScript = redisScript(`
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return false end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('GET', KEYS[2]) or ''
`);

const noteScript = redisScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2])
return 1
`);

export interface RedisHealthOptions {
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
  readonly deadlineMs?: number;
}

export function createRedisHealthStore(redis: Redis, options: RedisHealthOptions = {}): HealthStore {
  const { name = 'terse', deadlineMs = deadlineMsDefault } = options;
  const keyOf = (code: string): string => `${name}:health/${code}`;
  const walkKeys = [`{${name}:health}:turn`, `{${name}:health}:walk`];
  return {
    find: codes =>
      Promise.all(
        codes.map(async code => {
          const value = await redis.get(keyOf(code), deadlineMs);
          return value === undefined ? undefined : ({ ...JSON.parse(value), code } as HealthRecord);
        }),
      ),
    async save(records, _now, keepMs) {
      await Promise.all(
        records.map(({ code, ...rest }) => redis.set(keyOf(code), JSON.stringify(rest), keepMs, deadlineMs)),
      );
    },
    async takeTurn(runner, _now, turnMs) {
      const reply = await redis.run(takeScript, walkKeys, [runner, turnMs], deadlineMs);
      if (reply === null) return undefined;
      return reply === '' ? walkStart : (JSON.parse(String(reply)) as WalkPosition);
    },
    noteTurn: async (runner, position) =>
      (await redis.run(noteScript, walkKeys, [runner, JSON.stringify(position)], deadlineMs)) === 1,
    async close() {},
  };
}
