/**
 * The shared cache in Redis. A record's key is `terse/CODE`, a character that no code contains apart from whatever else
 * is kept there. Times are the server's own, taken where the write happens, so the clocks of our machines do not matter.
 */
import {
  deadlineMsDefault,
  type Redis,
  type RedisReply,
  type RedisScript,
  RedisUnavailable,
  redisScript,
  visitorDeadlineMs,
} from '../../../engines/redis/redis.ts';
import { type CacheMark, fenceMsDefault, type LinkCache, type MarkReading } from '../../cache.ts';
import { decodeValue, encodeRecord, fenceValue } from './value.ts';

export interface RedisCacheOptions {
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
  readonly fenceMs?: number;
  /** For what a visitor waits for, and for everything else. */
  readonly readDeadlineMs?: number;
  readonly deadlineMs?: number;
}

/** The start of a value is enough: a fence, or the version. */
const fillScript = redisScript(`
local held = redis.call('GETRANGE', KEYS[1], 0, 19)
if held == '${fenceValue}' then return 0 end
local version = tonumber(string.match(held, '^%d+'))
if version and version > tonumber(ARGV[1]) then return 0 end
local now = redis.call('TIME')[1]
redis.call('SET', KEYS[1], ARGV[1] .. ' ' .. now .. ' ' .. ARGV[2] .. ' ' .. ARGV[3], 'EX', ARGV[2])
return 1
`);

const readMarkScript = redisScript(`
local time = redis.call('TIME')
return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('GET', KEYS[1])}
`);

const writeMarkScript = redisScript(`
local time = redis.call('TIME')
local trust = tonumber(ARGV[2])
local held = tonumber(string.match(redis.call('GET', KEYS[1]) or '', ' (%d+)$'))
if held and held > trust then trust = held end
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('SET', KEYS[1], string.format('%s %.0f %.0f', ARGV[1], now, trust))
return trust
`);

export function createRedisCache(redis: Redis, options: RedisCacheOptions = {}): LinkCache {
  const { name = 'terse', fenceMs = fenceMsDefault } = options;
  const { readDeadlineMs = visitorDeadlineMs, deadlineMs = deadlineMsDefault } = options;
  const keyOf = (code: string): string => `${name}/${code}`;
  const channel = `${name}:changes`;

  /** What those say that are there; whoever is away has to show its mark when it returns. */
  const onEachServer = async (script: RedisScript, values: readonly number[]): Promise<RedisReply[]> => {
    const keys = redis.keyOnEach(`${name}:mark`);
    const replies = await Promise.allSettled(keys.map(key => redis.run(script, [key], values, deadlineMs)));
    const said = replies.flatMap(reply => (reply.status === 'fulfilled' ? [reply.value] : []));
    if (said.length === 0) throw new RedisUnavailable('no server of the cache answers');
    return said;
  };

  return {
    async get(code, isPatient = false) {
      const value = await redis.get(keyOf(code), isPatient ? deadlineMs : readDeadlineMs);
      return value === undefined || value === fenceValue ? undefined : decodeValue(code, value);
    },
    async fill(code, link, ttlMs) {
      if (link !== undefined && link.maxClicks !== null) return false;
      const ttlSeconds = Math.max(1, Math.round(ttlMs / 1_000));
      const values = [link?.version ?? 0, ttlSeconds, encodeRecord(link)];
      return (await redis.run(fillScript, [keyOf(code)], values, deadlineMs)) === 1;
    },
    async fence(codes) {
      const fences = codes.map(code => redis.set(keyOf(code), fenceValue, fenceMs, deadlineMs));
      const outcomes = await Promise.allSettled(fences);
      return codes.filter((_, n) => outcomes[n]?.status === 'rejected');
    },
    async readMark() {
      const readings = (await onEachServer(readMarkScript, [])).map(reading);
      return {
        nowMs: Math.max(...readings.map(({ nowMs }) => nowMs)),
        mark: together(readings.flatMap(({ mark }) => mark ?? [])),
      };
    },
    async writeMark(seq, trustFromMs) {
      const written = await onEachServer(writeMarkScript, [seq, trustFromMs]);
      return Math.max(trustFromMs, ...written.map(Number));
    },
    onReturn: listener => redis.onAvailable(listener),
    publish: message => redis.publish(channel, message, deadlineMs),
    onMessage: listener => redis.subscribe(channel, listener),
  };
}

function reading(reply: RedisReply): MarkReading {
  const [now, held] = reply as readonly [number, string | null];
  const [, seq, writtenAt, trustFrom] = /^(\d+) (\d+) (\d+)$/.exec(held ?? '') ?? [];
  if (seq === undefined) return { nowMs: now, mark: undefined };
  const ageMs = Math.max(0, now - Number(writtenAt));
  return { nowMs: now, mark: { seq: Number(seq), ageMs, trustFromMs: Number(trustFrom) } };
}

/** Each server of a Cluster has a memory of its own, and all of them together are as good as the worst. */
function together(marks: readonly CacheMark[]): CacheMark | undefined {
  if (marks.length === 0) return undefined;
  return {
    seq: Math.min(...marks.map(({ seq }) => seq)),
    ageMs: Math.max(...marks.map(({ ageMs }) => ageMs)),
    trustFromMs: Math.max(...marks.map(({ trustFromMs }) => trustFromMs)),
  };
}
