/**
 * The shared cache in Redis. A record's key is `terse/CODE`; no code contains the slash, so records never clash with
 * other keys. Times are the server's own, taken where the write happens, so the clocks of our machines do not matter.
 */
import { compileObject, type Member } from '../../base/compiled-object.ts';
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
import { type Link, type LinkRisk, linkOrigins, linkStatuses, redirectTypes } from '../../links/link.ts';
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

/** For each key its version, lifetime and record in one text. The start of a value is enough: a fence, or the version. */
export const fillScript = redisScript(`
local now = redis.call('TIME')[1]
local filled = {}
for place, key in ipairs(KEYS) do
  local version, ttl, record = string.match(ARGV[place], '^(%d+) (%d+) (.*)$')
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
      const filling = `${link?.version ?? 0} ${ttlSeconds} ${encodeRecord(link)}`;
      return (await redis.runEach(fillScript, keyOf(code), [filling], deadlineMs)) === 1;
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
  const filledAt = value.indexOf(' ') + 1;
  const ttlAt = value.indexOf(' ', filledAt) + 1;
  const recordAt = value.indexOf(' ', ttlAt) + 1;
  if (filledAt === 0 || ttlAt === 0 || recordAt === 0) return undefined;
  const filledAtMs = Number(value.slice(filledAt, ttlAt)) * 1_000;
  const ttlMs = Number(value.slice(ttlAt, recordAt)) * 1_000;
  if (Number.isNaN(filledAtMs + ttlMs)) return undefined;
  if (value.length === recordAt + 1 && value.endsWith('-')) return { link: undefined, filledAtMs, ttlMs };
  if (!value.startsWith('[', recordAt)) return undefined;
  const link = decodeRecord(code, Number(value.slice(0, filledAt)), JSON.parse(value.slice(recordAt)));
  return link && { link, filledAtMs, ttlMs };
}

const flagReaders: { readonly [Name in FlagName]: (flags: number) => Link[Name] } = {
  forwardQuery: flags => (flags & 1) !== 0,
  publicStats: flags => (flags & 2) !== 0,
  origin: flags => linkOrigins[(flags >> 2) & 1]!,
  redirectType: flags => redirectTypes[(flags >> 3) & 3]!,
  // A status that a newer version has added.
  status: flags => linkStatuses[flags >> 5] ?? 'disabled',
};

/** Places in the array; `updatedAt` stands there as the time since `createdAt`. */
const placeOf: Readonly<Partial<Record<keyof Link, number>>> = {
  longUrl: 0,
  createdAt: 2,
  updatedAt: 3,
  ownerId: 4,
  expiresAt: 5,
  title: 6,
  tags: 7,
  risk: 8,
  usedClicks: 9,
  ...Object.fromEntries(laterFields.map(([name], later) => [name, 10 + later])),
};
const flagsPlace = 1;
/** Behind all that is in the array. */
const codePlace = 10 + laterFields.length;
const versionPlace = codePlace + 1;

const linkFrom = compileObject<readonly unknown[], Link>(
  fieldRows.map(([name, { default: absent }]): Member => {
    if (name === 'code') return { name, from: String(codePlace) };
    if (name === 'version') return { name, from: String(versionPlace) };
    if (name in flagReaders) return { name, from: String(flagsPlace), by: flagReaders[name as FlagName] };
    const from = String(placeOf[name] ?? versionPlace + 1);
    if (name === 'risk') return { name, from, by: riskOf };
    if (name === 'usedClicks') return { name, from, by: (clicks: number | null) => clicks ?? 0 };
    return absent === undefined ? { name, from } : { name, from, by: (value: unknown) => value ?? absent };
  }),
);

function decodeRecord(code: string, version: number, fields: unknown[]): Link | undefined {
  const [longUrl, flags, createdAt, sinceCreated] = fields as [unknown, unknown, number, number];
  if (typeof longUrl !== 'string' || typeof flags !== 'number') return undefined;
  fields[3] = createdAt + sinceCreated;
  // What a newer version has added behind them is not read.
  fields.length = codePlace;
  fields[codePlace] = code;
  fields[versionPlace] = version;
  return linkFrom(fields);
}

function riskOf(risk: readonly [number, ...string[]] | null | undefined): LinkRisk | null {
  if (risk === null || risk === undefined) return null;
  const [score, ...reasons] = risk;
  return { score, reasons };
}

type FlagName = 'origin' | 'status' | 'redirectType' | 'forwardQuery' | 'publicStats';

/** From the lowest bit: query forwarded, public statistics, origin, two bits of redirect type, then the status. */
function flagsOf(link: Pick<Link, FlagName>): number {
  return (
    Number(link.forwardQuery) |
    (Number(link.publicStats) << 1) |
    (linkOrigins.indexOf(link.origin) << 2) |
    (redirectTypes.indexOf(link.redirectType) << 3) |
    (linkStatuses.indexOf(link.status) << 5)
  );
}
