/**
 * The record store: everything that is not a link or a click (accounts, keys, sessions, reviews, audit entries, ...) is
 * a record of a kind, and a kind is data: its name, key, indexes and expiry. `record-store.conformance.ts` defines the
 * contract; rules are written once, above this port (change-records.ts).
 */
import { invariant, Problem } from '../base/errors.ts';
import { systemRandom } from '../base/random.ts';

/** A value is JSON and comes back as it was written. */
export interface RecordKind<Value, Index extends string = string> {
  readonly name: string;
  /** Unique within the kind. */
  readonly key: (value: Value) => string;
  /** Where a value is listed: nowhere, once or several times. */
  readonly indexes: Readonly<Record<Index, (value: Value) => IndexPlace | readonly IndexPlace[] | undefined>>;
  /** From this time on the record does not exist; null for never. */
  readonly expiresAt?: (value: Value) => number | null;
  /** Makes the kind append-only: a record cannot be changed, nor removed before this time. */
  readonly lockedUntil?: (value: Value) => number;
}

/** Within a partition records are ordered by `sort`, byte by byte, and then by key. */
export interface IndexPlace {
  readonly partition: string;
  readonly sort: string;
}

export interface Stored<Value> {
  readonly key: string;
  readonly value: Value;
  /** Different after each write, also after the record was removed and added again. */
  readonly version: number;
  /** Computed when the record was written. */
  readonly expiresAt: number | null;
}

export interface RecordStore {
  /** The newest committed state, by one read. */
  get<Value>(kind: RecordKind<Value>, key: string): Promise<Stored<Value> | undefined>;
  /** The same for each key, in their order. For lists: it does not use up the capacity of single gets. */
  getMany<Value>(kind: RecordKind<Value>, keys: readonly string[]): Promise<(Stored<Value> | undefined)[]>;
  query<Value, Index extends string>(
    kind: RecordKind<Value, Index>,
    index: NoInfer<Index>,
    range: RecordRange,
    page: PageRequest,
  ): Promise<RecordPage<Value>>;
  /**
   * Makes all of the writes, durably, or none: `conflict` when the version that one of them expects is not the current
   * one.
   */
  transact(writes: readonly RecordWrite[]): Promise<Transacted>;
  /** Records of all kinds, in the engine's own order: for copying an installation, never for a request. */
  walk(page: PageRequest): Promise<WalkedPage>;
  /** Deletes at most `limit` expired records and returns how many; 0 where the engine does it by itself. */
  removeExpired(limit: number): Promise<number>;
}

export interface WalkedPage {
  readonly records: WalkedRecord[];
  readonly next: string | undefined;
}

export interface WalkedRecord {
  readonly kind: string;
  readonly key: string;
  /** As JSON. */
  readonly value: string;
  readonly expiresAt: number | null;
}

export type Transacted = 'done' | 'conflict';

export interface RecordRange {
  readonly partition: string;
  /** Included. */
  readonly from?: string | undefined;
  /** Not included. */
  readonly to?: string | undefined;
  readonly descending?: boolean;
}

export interface PageRequest {
  readonly limit: number;
  readonly cursor?: string | undefined;
}

export interface RecordPage<Value> {
  readonly records: Stored<Value>[];
  /** Where the next page begins; undefined at the end. A page may be short, or empty, before the end. */
  readonly next: string | undefined;
}

/**
 * One write of a transaction, as plain data that crosses threads and engines: made by `put`, `remove` and `check`. Writes
 * of links carry them too, so that a change and its audit entry are one transaction.
 */
export interface RecordWrite {
  readonly kind: string;
  readonly key: string;
  /** The version that the record must have; null when it must not exist. */
  readonly expected: number | null;
  /** The new state; null to remove the record; undefined to leave it as it is. */
  readonly put: RecordState | null | undefined;
  readonly addedPlaces: readonly RecordPlace[];
  readonly removedPlaces: readonly RecordPlace[];
}

export interface RecordState {
  readonly version: number;
  /** As JSON. */
  readonly value: string;
  readonly expiresAt: number | null;
  readonly lockedUntil: number | null;
}

export interface RecordPlace extends IndexPlace {
  readonly index: string;
}

/** The maximum of records and index places in a transaction: the limit of the strictest engine applies to all rules. */
const transactionItemsMax = 100;

export function assertTransactionSize(writes: readonly RecordWrite[]): void {
  let items = writes.length;
  for (const { addedPlaces, removedPlaces } of writes) items += addedPlaces.length + removedPlaces.length;
  invariant(items <= transactionItemsMax, `a transaction has at most ${transactionItemsMax} items`);
}

/** At most `max` records of a range, from as many pages as it takes. */
export async function queryAll<Value, Index extends string>(
  store: Pick<RecordStore, 'query'>,
  kind: RecordKind<Value, Index>,
  index: NoInfer<Index>,
  range: RecordRange,
  max: number,
): Promise<Stored<Value>[]> {
  const records: Stored<Value>[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.query(kind, index, range, { limit: max - records.length, cursor });
    records.push(...page.records);
    cursor = page.next;
  } while (cursor !== undefined && records.length < max);
  return records;
}

/** Replaces `before`, or adds a record where there is none. */
export function put<Value>(kind: RecordKind<Value>, value: Value, before?: Stored<Value>): RecordWrite {
  const key = kind.key(value);
  if (before !== undefined && before.key !== key) throw new Error(`a ${kind.name} cannot change its key`);
  const expiresAt = kind.expiresAt?.(value) ?? null;
  const places = placesOf(kind, value);
  const earlier = before === undefined ? [] : placesOf(kind, before.value);
  // A place expires with its record, so that it is written again when that changes.
  const isKept = before?.expiresAt === expiresAt;
  return {
    kind: kind.name,
    key,
    expected: before?.version ?? null,
    put: {
      version: newVersion(),
      value: JSON.stringify(value),
      expiresAt,
      lockedUntil: kind.lockedUntil?.(value) ?? null,
    },
    addedPlaces: isKept ? without(places, earlier) : places,
    removedPlaces: without(earlier, places),
  };
}

export function remove<Value>(kind: RecordKind<Value>, before: Stored<Value>): RecordWrite {
  const removedPlaces = placesOf(kind, before.value);
  const { key, version: expected } = before;
  return { kind: kind.name, key, expected, put: null, addedPlaces: [], removedPlaces };
}

/** The transaction is done only if the record is still as it was read, or still missing. */
export function check<Value>(
  kind: RecordKind<Value>,
  key: string,
  before: Stored<Value> | undefined,
): RecordWrite {
  const expected = before?.version ?? null;
  return { kind: kind.name, key, expected, put: undefined, addedPlaces: [], removedPlaces: [] };
}

export function placesOf<Value>(kind: RecordKind<Value>, value: Value): RecordPlace[] {
  return Object.entries(kind.indexes).flatMap(([index, placeOf]) =>
    [placeOf(value) ?? []].flat().map(place => ({ index, ...place })),
  );
}

/** Whole numbers between -10^15 and 9 * 10^15 as text of the same order. */
export function sortable(value: number): string {
  return String(value + 10 ** 15).padStart(16, '0');
}

/** What a driver finds at a place of an index. */
export interface FoundRecord extends IndexPlace {
  readonly key: string;
  readonly version: number;
  readonly value: string;
  readonly expiresAt: number | null;
}

export function storedOf<Value>({
  key,
  version,
  value,
  expiresAt,
}: Omit<FoundRecord, keyof IndexPlace>): Stored<Value> {
  return { key, version, value: JSON.parse(value) as Value, expiresAt };
}

/** `found` has one more than the limit when there is another page. Places that a record has left are skipped. */
export function pageOf<Value>(
  kind: RecordKind<Value>,
  index: string,
  partition: string,
  found: readonly FoundRecord[],
  limit: number,
): RecordPage<Value> {
  const shown = found.slice(0, limit);
  const last = shown.at(-1);
  return {
    records: shown.flatMap(each => {
      const stored = storedOf<Value>(each);
      const isThere = placesOf(kind, stored.value).some(
        place => place.index === index && place.partition === partition && place.sort === each.sort,
      );
      return isThere ? [stored] : [];
    }),
    next: found.length > limit && last !== undefined ? cursorOf(last) : undefined,
  };
}

export interface Position {
  readonly sort: string;
  readonly key: string;
}

export const cursorOf = ({ sort, key }: Position): string =>
  Buffer.from(JSON.stringify([sort, key])).toString('base64url');

export function positionOf(cursor: string): Position {
  try {
    const [sort, key] = JSON.parse(Buffer.from(cursor, 'base64url').toString()) as unknown[];
    if (typeof sort === 'string' && typeof key === 'string') return { sort, key };
  } catch {
    // A cursor that we did not issue.
  }
  throw new Problem('invalid_request', {
    detail: 'This cursor is not valid.',
    fields: { field: 'cursor' },
  });
}

const without = (places: readonly RecordPlace[], others: readonly RecordPlace[]): RecordPlace[] =>
  places.filter(
    ({ index, partition, sort }) =>
      !others.some(other => other.index === index && other.partition === partition && other.sort === sort),
  );

/** Random, because a count would repeat when a record is removed and made again. */
function newVersion(): number {
  const bytes = Buffer.from(systemRandom.bytes(6));
  return bytes.readUIntBE(0, 6) + 1;
}
