/**
 * Where each kind of item is in the table. A link is alone in its partition, so one redirect reads one item of one
 * partition. Everything that many links share is spread over a fixed number of partitions, because one partition takes
 * at most a thousand writes a second; readers query all of them. The numbers are part of the format.
 */
import { createHash } from 'node:crypto';
import type { Random } from '../../../base/random.ts';
import type { Key } from '../../../engines/dynamodb/dynamodb.ts';

const shards = { owner: 4, label: 4, site: 8, expiry: 8, claims: 16 } as const;
const feedLanes = 4;

/** The sort key of items that need no order. */
const alone = '-';

export const linkKey = (code: string): Key => linkKeyAt(`l#${code}`);
export const linkKeyAt = (pk: string): Key => ({ pk, sk: alone });
export const codeOf = ({ pk }: Pick<Key, 'pk'>): string => pk.slice(2);

/** Counts the leases of a share; all shares of a code space are in one partition. */
export const rangeKey = (length: number, first = 0): Key => ({
  pk: rangePartition(length),
  sk: first === 0 ? alone : padded(first),
});
export const rangePartition = (length: number): string => `range#${length}`;
export const firstOfRange = ({ sk }: Pick<Key, 'sk'>): number => (sk === alone ? 0 : Number(sk));
export const feedKey: Key = { pk: 'feed', sk: alone };
export const secretKey: Key = { pk: 'installation', sk: 'secret' };
/** Owner and key are hashed: callers choose the key, and it may be long. */
export const answerKey = (ownerId: string, key: string): Key => ({
  pk: `answer#${hashOf(ownerId, key)}`,
  sk: alone,
});
export const urlGuardKey = (ownerId: string | null, longUrl: string): Key => ({
  pk: `url#${hashOf(ownerId ?? '', longUrl)}`,
  sk: alone,
});
export const changeKey = (seq: number): Key => ({ pk: `feed#${seq % feedLanes}`, sk: padded(seq) });
export const feedPartitions = spread(feedLanes, lane => `feed#${lane}`);

/** Events wait under the number of their change. */
export const eventKey = (seq: number): Key => ({ pk: `outbox#${seq % feedLanes}`, sk: padded(seq) });
export const outboxPartitions = spread(feedLanes, lane => `outbox#${lane}`);

/** Ids of one bucket are claimed and leased through one item, which makes the two mutually exclusive. */
export const claimBucketIds = 1_000;
export const bucketOf = (id: number): number => Math.floor(id / claimBucketIds);
export const bucketKey = (length: number, bucket: number): Key => ({
  pk: `claims#${length}#${bucket % shards.claims}`,
  sk: padded(bucket),
});
export const bucketSortKey = (bucket: number): string => padded(bucket);
export const claimPartitions = (length: number): string[] =>
  spread(shards.claims, shard => `claims#${length}#${shard}`);

export const ownerKey = (ownerId: string | null, code: string): string =>
  `o#${ownerId ?? ''}#${shardOf(code, shards.owner)}`;
export const ownerPartitions = (ownerId: string | null): string[] =>
  spread(shards.owner, shard => `o#${ownerId ?? ''}#${shard}`);

export const labelPk = (ownerId: string | null, label: string, code: string): string =>
  `label#${ownerId ?? ''}#${label}#${shardOf(code, shards.label)}`;
export const labelPartitions = (ownerId: string | null, label: string): string[] =>
  spread(shards.label, shard => `label#${ownerId ?? ''}#${label}#${shard}`);

/** In one partition: an owner who creates a thousand links to the same URL within a second may have to wait. */
export const urlKey = (ownerId: string | null, longUrl: string): string =>
  `u#${hashOf(ownerId ?? '', longUrl)}`;

export function siteKey(longUrl: string, code: string): string | undefined {
  const host = URL.parse(longUrl)?.hostname ?? '';
  return host === '' ? undefined : `s#${siteOf(host)}#${shardOf(code, shards.site)}`;
}
export const sitePartitions = (domain: string): string[] =>
  spread(shards.site, shard => `s#${siteOf(domain)}#${shard}`);

/**
 * `removed` links may be deleted after their time, because a lease or a claim still protects the code; `emptied` links
 * must leave a tombstone.
 */
export type AfterExpiry = 'removed' | 'emptied';
export const expiryKey = (fate: AfterExpiry, code: string): string =>
  `x#${fate}#${shardOf(code, shards.expiry)}`;
export const expiryPartitions = (fate: AfterExpiry): string[] =>
  spread(shards.expiry, shard => `x#${fate}#${shard}`);

/**
 * A link's place among all: the time of creation, then the order in which one process created those of the same
 * millisecond, then the code, so that no two are the same. It is the sort key of every list and also the cursor.
 */
export class Places {
  #next: number;

  /** Starts anywhere, so that the places of two processes differ even for the same code at the same time. */
  constructor(random: Random) {
    this.#next = Math.floor(random.float() * ordersMax);
  }

  take(createdAt: number, code: string): string {
    this.#next = (this.#next + 1) % ordersMax;
    return `${digits(createdAt, timeDigits)}${digits(this.#next, orderDigits)}${code}`;
  }
}

const timeDigits = 9;
const orderDigits = 6;
const ordersMax = 36 ** orderDigits;

/** Below every place of this time or later, and above every earlier place. */
export const placesFrom = (timeMs: number): string =>
  digits(Math.min(Math.max(timeMs, 0), 36 ** timeDigits - 1), timeDigits);

export const placePattern = /^[0-9a-z]{15}[0-9A-Za-z_-]{1,64}$/;
export const codeOfPlace = (place: string): string => place.slice(timeDigits + orderDigits);

const digits = (value: number, width: number): string => value.toString(36).padStart(width, '0');
const padded = (value: number): string => String(value).padStart(16, '0');

function spread(count: number, name: (shard: number) => string): string[] {
  return Array.from({ length: count }, (_, shard) => name(shard));
}

/** FNV-1a: a code's shard must never change, and need not be hard to guess. */
function shardOf(code: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < code.length; at += 1) hash = Math.imul(hash ^ code.charCodeAt(at), 0x01000193) >>> 0;
  return ((hash ^ (hash >>> 16)) >>> 0) % count;
}

/** The last two labels of a host: everything below a domain shares its partitions. A single label is a host itself. */
const siteOf = (host: string): string => host.split('.').slice(-2).join('.');

const hashOf = (first: string, second: string): string =>
  createHash('sha256').update(first).update('\n').update(second).digest('base64url').slice(0, 27);
