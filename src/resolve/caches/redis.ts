/**
 * The shared cache in Redis. A record's key is `terse/CODE`; no code contains the slash, so records never clash with
 * other keys. Times are the server's own, taken where the write happens, so the clocks of our machines do not matter.
 */
import {
  deadlineMsDefault,
  type Redis,
  type RedisReply,
  type RedisScript,
  RedisUnavailable,
  redisScript,
  visitorDeadlineMs,
} from '../../engines/redis/redis.ts';
import { fieldRows } from '../../links/fields.ts';
import {
  type Link,
  type LinkOrigin,
  type LinkRisk,
  type LinkStatus,
  linkOrigins,
  linkStatuses,
  redirectTypes,
} from '../../links/link.ts';
import {
  type CacheCheckpoint,
  type CacheEntry,
  type CheckpointReading,
  fenced,
  fenceMsDefault,
  type LinkCache,
} from '../cache.ts';

export interface RedisCacheOptions {
  /** Two installations may share a Redis under different names. */
  readonly name?: string;
  readonly fenceMs?: number;
  /** For reads that a visitor waits for; `deadlineMs` is for everything else. */
  readonly readDeadlineMs?: number;
  readonly deadlineMs?: number;
}

/** In place of a value: nothing is known, and nothing may be written. */
const fenceValue = '!';

/** For each key its version, lifetime and record. The start of a value is enough: a fence, or the version. */
export const fillScript = redisScript(`
local now = redis.call('TIME')[1]
local filled = {}
for place, key in ipairs(KEYS) do
  local version, ttl, record = unpack(ARGV, place * 3 - 2, place * 3)
  local held = redis.pcall('GETRANGE', key, 0, 19)
  local isText = type(held) == 'string'
  local heldVersion = isText and tonumber(string.match(held, '^%d+'))
  if not isText or held == '${fenceValue}' or (heldVersion and heldVersion > tonumber(version)) then
    filled[place] = 0
  else
    redis.call('SET', key, version .. ' ' .. now .. ' ' .. ttl .. ' ' .. record, 'EX', ttl)
    filled[place] = 1
  end
end
return filled
`);

export const readMarkScript = redisScript(`
local time = redis.call('TIME')
return {time[1] * 1000 + math.floor(time[2] / 1000), redis.call('GET', KEYS[1])}
`);

export const writeMarkScript = redisScript(`
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
  const channel = `${name}:messages`;

  /** The checkpoints of the servers that are up; a server that is down has to show its checkpoint when it returns. */
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
      if (value === fenceValue) return fenced;
      return value === undefined ? undefined : decodeValue(code, value);
    },
    async fill(code, link, ttlMs) {
      if (link !== undefined && link.maxClicks !== null) return false;
      const ttlSeconds = Math.max(1, Math.round(ttlMs / 1_000));
      const values = [link?.version ?? 0, ttlSeconds, encodeRecord(link)];
      return (await redis.runEach(fillScript, keyOf(code), values, deadlineMs)) === 1;
    },
    async fence(codes) {
      const fences = codes.map(code => redis.set(keyOf(code), fenceValue, fenceMs, deadlineMs));
      const outcomes = await Promise.allSettled(fences);
      return codes.filter((_, n) => outcomes[n]?.status === 'rejected');
    },
    isAvailableFor: code => redis.isAvailableFor(keyOf(code)),
    async readCheckpoint() {
      const readings = (await onEachServer(readMarkScript, [])).map(reading);
      return {
        nowMs: Math.max(...readings.map(({ nowMs }) => nowMs)),
        checkpoint: together(readings.flatMap(({ checkpoint }) => checkpoint ?? [])),
      };
    },
    async writeCheckpoint(seq, trustFromMs) {
      const written = await onEachServer(writeMarkScript, [seq, trustFromMs]);
      return Math.max(trustFromMs, ...written.map(Number));
    },
    onReturn: listener => redis.onAvailable(listener),
    publish: message => redis.publish(channel, message, deadlineMs),
    onMessage: listener => redis.subscribe(channel, listener),
  };
}

function reading(reply: RedisReply): CheckpointReading {
  const [now, held] = reply as readonly [number, string | null];
  const [, seq, writtenAt, trustFrom] = /^(\d+) (\d+) (\d+)$/.exec(held ?? '') ?? [];
  if (seq === undefined) return { nowMs: now, checkpoint: undefined };
  const ageMs = Math.max(0, now - Number(writtenAt));
  return { nowMs: now, checkpoint: { seq: Number(seq), ageMs, trustFromMs: Number(trustFrom) } };
}

/** Each server of a Cluster has its own memory; together they are only as good as the worst. */
function together(checkpoints: readonly CacheCheckpoint[]): CacheCheckpoint | undefined {
  if (checkpoints.length === 0) return undefined;
  return {
    seq: Math.min(...checkpoints.map(({ seq }) => seq)),
    ageMs: Math.max(...checkpoints.map(({ ageMs }) => ageMs)),
    trustFromMs: Math.max(...checkpoints.map(({ trustFromMs }) => trustFromMs)),
  };
}

/**
 * A link as Redis keeps it: `version filledAt ttl [record]`, times in seconds, the record as a JSON array without its
 * empty tail. Its first places are the fields of the first layout, except the code, which is the key; fields that were
 * added since follow in the order of their table, so that processes of either version read what the other wrote. The version comes first so that a script can compare
 * it without parsing the rest; readers treat a value that they cannot parse as a miss.
 *
 * Over 100,000 links with URLs of 96 bytes the values have 171 bytes, MEMORY USAGE says 246, and with the tables of
 * keys and of expiry times Redis grows by 308 bytes per link. A binary form would save about 30 of them and could no
 * longer be read with redis-cli.
 */
const laterFields = fieldRows.filter(([, { since, isCached }]) => since > 1 && isCached);

/** The part after the version and the time of filling. */
export function encodeRecord(link: Link | undefined): string {
  if (link === undefined) return '-';
  const fields = [
    link.longUrl,
    flagsOf(link),
    link.createdAt,
    link.updatedAt - link.createdAt,
    link.ownerId,
    link.expiresAt,
    link.title,
    link.tags.length === 0 ? null : link.tags,
    link.risk && [link.risk.score, ...link.risk.reasons],
    link.usedClicks === 0 ? null : link.usedClicks,
    ...laterFields.map(([name, field]) => (link[name] === field.default ? null : link[name])),
  ];
  while (fields.at(-1) === null) fields.pop();
  return JSON.stringify(fields);
}

export function decodeValue(code: string, value: string): CacheEntry | undefined {
  const [, version, filledAt, ttl, record = ''] = /^(\d+) (\d+) (\d+) (.*)$/s.exec(value) ?? [];
  const entry = { filledAtMs: Number(filledAt) * 1_000, ttlMs: Number(ttl) * 1_000 };
  if (record === '-') return { link: undefined, ...entry };
  if (!record.startsWith('[')) return undefined;
  const link = decodeRecord(code, Number(version), JSON.parse(record));
  return link && { link, ...entry };
}

function decodeRecord(code: string, version: number, fields: readonly unknown[]): Link | undefined {
  const [longUrl, flags, createdAt, sinceCreated, ownerId = null, expiresAt = null, title = null] = fields;
  const [tags, risk, usedClicks, ...later] = fields.slice(7);
  if (typeof longUrl !== 'string' || typeof flags !== 'number') return undefined;
  return {
    code,
    longUrl,
    ownerId: ownerId as string | null,
    ...readFlags(flags),
    ...Object.fromEntries(laterFields.map(([name, field], place) => [name, later[place] ?? field.default])),
    title: title as string | null,
    tags: (tags ?? []) as string[],
    createdAt: createdAt as number,
    updatedAt: (createdAt as number) + (sinceCreated as number),
    expiresAt: expiresAt as number | null,
    maxClicks: null,
    usedClicks: (usedClicks ?? 0) as number,
    risk: riskOf(risk as [number, ...string[]] | null | undefined),
    version,
  } as unknown as Link;
}

function riskOf(risk: readonly [number, ...string[]] | null | undefined): LinkRisk | null {
  if (risk === null || risk === undefined) return null;
  const [score, ...reasons] = risk;
  return { score, reasons };
}

type Flagged = Pick<Link, 'origin' | 'status' | 'redirectType' | 'forwardQuery' | 'publicStats'>;

/** From the lowest bit: query forwarded, public statistics, origin, two bits of redirect type, then the status. */
function flagsOf(link: Flagged): number {
  return (
    Number(link.forwardQuery) |
    (Number(link.publicStats) << 1) |
    (linkOrigins.indexOf(link.origin) << 2) |
    (redirectTypes.indexOf(link.redirectType) << 3) |
    (linkStatuses.indexOf(link.status) << 5)
  );
}

function readFlags(flags: number): Flagged {
  return {
    forwardQuery: (flags & 1) !== 0,
    publicStats: (flags & 2) !== 0,
    origin: linkOrigins[(flags >> 2) & 1] as LinkOrigin,
    redirectType: redirectTypes[(flags >> 3) & 3]!,
    status: linkStatuses[flags >> 5] as LinkStatus,
  };
}
