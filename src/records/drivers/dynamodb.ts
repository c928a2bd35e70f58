/**
 * Records in the one table of DynamoDB: an item for each record, and one for each of its places in indexes, written in
 * the same transaction. All reads are strongly consistent. Items of expired records are dropped by the engine, within
 * days; until then they are skipped.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import type { Dynamo } from '../../engines/dynamodb/dynamodb.ts';
import type { Condition, Key, TransactItem } from '../../engines/dynamodb/expressions.ts';
import { partitionOf, type Query, type SortRange, ttlAttribute } from '../../engines/dynamodb/queries.ts';
import { TableWalk, type WalkedPart } from '../../engines/dynamodb/table-walk.ts';
import {
  assertTransactionSize,
  cursorOf,
  type FoundRecord,
  type Position,
  pageOf,
  positionOf,
  type RecordPlace,
  type RecordRange,
  type RecordStore,
  type RecordWrite,
  type Stored,
  storedOf,
} from '../record-store.ts';

interface RecordItem extends Key {
  readonly kind: string;
  readonly key: string;
  readonly version: number;
  readonly value: string;
  readonly expiresAt?: number;
}

interface PlaceItem extends Key, Position {}

/** A sort key of the engine has 1,024 bytes. */
const keyBytesMax = 512;
/** Lower than every character of a sort text. */
const separator = '\u0001';

/** The transaction items of the writes; if DynamoDB rejects one of these, the transaction has a conflict. */
export function recordItems(writes: readonly RecordWrite[], now: number): TransactItem[] {
  return writes.flatMap(write => [recordWrite(write, now), ...placeWrites(write)]);
}

function recordWrite({ kind, key, expected, put }: RecordWrite, now: number): TransactItem {
  const item = recordKey(kind, key);
  const condition = conditionOf(expected, now);
  if (put === undefined) return { check: item, condition };
  if (put === null) return { remove: item, condition };
  const { version, value, expiresAt } = put;
  return { put: { ...item, kind, key, version, value, ...expiry(expiresAt) }, condition };
}

const placeWrites = ({ kind, key, put, addedPlaces, removedPlaces }: RecordWrite): TransactItem[] => [
  ...removedPlaces.map(place => ({ remove: placeKey(kind, place, key) })),
  ...addedPlaces.map(place => ({
    put: { ...placeKey(kind, place, key), key, sort: place.sort, ...expiry(put?.expiresAt ?? null) },
  })),
];

function conditionOf(expected: number | null, now: number): Condition {
  if (expected === null) {
    return { expression: 'attribute_not_exists(#pk) OR #expiresAt <= :now', values: { now } };
  }
  return {
    expression: '#version = :version AND (attribute_not_exists(#expiresAt) OR #expiresAt > :now)',
    values: { version: expected, now },
  };
}

const expiry = (expiresAt: number | null) =>
  expiresAt === null ? {} : { expiresAt, [ttlAttribute]: Math.ceil(expiresAt / 1_000) };

/** The part of a walk over the whole table. */
const recordPart: WalkedPart = { part: 'records', prefix: 'record#' };

export function createDynamoRecords(
  dynamo: Dynamo,
  clock: Pick<Clock, 'now'>,
  tableWalk = new TableWalk(dynamo),
): RecordStore {
  tableWalk.addRare(recordPart);
  const isLive = ({ expiresAt }: RecordItem): boolean => expiresAt === undefined || expiresAt > clock.now();
  const liveOf = <Value>(item: RecordItem | undefined): Stored<Value> | undefined =>
    item !== undefined && isLive(item) ? storedOf(foundOf(item)) : undefined;

  /** One more than the limit when there is more. */
  const readPlaces = async (query: Query, limit: number): Promise<PlaceItem[]> => {
    const places: PlaceItem[] = [];
    for (let start = query.start; ; ) {
      const page = await dynamo.query<PlaceItem>({ ...query, start, limit: limit + 1 - places.length });
      places.push(...page.items);
      start = page.next;
      if (start === undefined || places.length > limit) return places;
    }
  };

  return {
    async get(kind, key) {
      const item = await dynamo.get<RecordItem>(recordKey(kind.name, key));
      return liveOf(item);
    },
    async getMany(kind, keys) {
      const items = await dynamo.getMany<RecordItem>(keys.map(key => recordKey(kind.name, key)));
      return items.map(item => liveOf(item));
    },
    async query(kind, index, range, { limit, cursor }) {
      const { partition, from = '', to, descending = false } = range;
      if (to !== undefined && from >= to) return { records: [], next: undefined };
      const after = cursor === undefined ? undefined : positionOf(cursor);
      const start = after && placeKey(kind.name, { index, partition, sort: after.sort }, after.key);
      const { pk } = placeKey(kind.name, { index, partition, sort: '' }, '');
      const places = await readPlaces(
        {
          pk,
          descending,
          ...sortRange(range),
          start: start && { pk: { S: start.pk }, sk: { S: start.sk } },
        },
        limit,
      );
      const shown = places.slice(0, limit);
      const items = await dynamo.getMany<RecordItem>(shown.map(({ key }) => recordKey(kind.name, key)));
      const found = items.flatMap((item, position): FoundRecord[] =>
        item !== undefined && isLive(item)
          ? [{ ...foundOf(item), partition, sort: shown[position]!.sort }]
          : [],
      );
      const { records } = pageOf(kind, index, partition, found, limit);
      return { records, next: places.length > limit ? cursorOf(shown.at(-1)!) : undefined };
    },
    async transact(writes) {
      assertTransactionSize(writes);
      const items = recordItems(writes, clock.now());
      if (items.length === 0) return 'done';
      return (await dynamo.transact(items)).kind === 'done' ? 'done' : 'conflict';
    },
    async walk({ limit, cursor }) {
      const { items, next } = await tableWalk.rarePage<RecordItem>(recordPart, cursor, limit);
      return { records: items.filter(isLive).map(item => ({ kind: item.kind, ...foundOf(item) })), next };
    },
    /** DynamoDB itself deletes them by their TTL. */
    removeExpired: async () => 0,
  };
}

const foundOf = ({ key, version, value, expiresAt }: RecordItem) => ({
  key,
  version,
  value,
  expiresAt: expiresAt ?? null,
});

const recordKey = (kind: string, key: string): Key => ({
  pk: partitionOf(`record#${kind}`, key),
  sk: 'record',
});

const placeKey = (kind: string, { index, partition, sort }: RecordPlace, key: string): Key => ({
  pk: partitionOf(`place#${kind}#${index}`, partition),
  sk: `${sort}${separator}${shortened(key)}`,
});

function shortened(key: string): string {
  return Buffer.byteLength(key) <= keyBytesMax ? key : createHash('sha256').update(key).digest('hex');
}

/** No item has exactly the text of `to`, because the separator follows it. */
function sortRange({ from, to }: RecordRange): { range?: SortRange } {
  if (from !== undefined && to !== undefined) return { range: { from, to } };
  if (from !== undefined) return { range: { from } };
  return to === undefined ? {} : { range: { below: to } };
}
