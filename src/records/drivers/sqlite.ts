/**
 * Records in the embedded database: one table of records and one of their places in indexes. Writes run on the writer
 * thread inside its shared transaction; reads see whatever any process has committed.
 */
import type { Database } from 'bun:sqlite';
import type { Clock } from '../../base/clock.ts';
import type { MigrationSet } from '../../engines/sqlite/migrations.ts';
import type { SqliteWriter } from '../../engines/sqlite/writer.ts';
import {
  cursorOf,
  type FoundRecord,
  pageOf,
  positionOf,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
  type Stored,
  storedOf,
  type WalkedRecord,
} from '../record-store.ts';

export const recordMigrations: MigrationSet = {
  component: 'records',
  steps: [
    `
    CREATE TABLE records (
      kind TEXT NOT NULL,
      key TEXT NOT NULL,
      version INTEGER NOT NULL,
      value TEXT NOT NULL,
      expires_at INTEGER,
      -- Of an append-only record: it is never changed, and not removed before this time.
      locked_until INTEGER,
      PRIMARY KEY (kind, key)
    ) STRICT;
    CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE record_places (
      kind TEXT NOT NULL,
      name TEXT NOT NULL,
      partition TEXT NOT NULL,
      sort TEXT NOT NULL,
      key TEXT NOT NULL,
      expires_at INTEGER,
      PRIMARY KEY (kind, name, partition, sort, key)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX record_places_by_expiry ON record_places (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TRIGGER locked_records_are_never_changed BEFORE UPDATE ON records WHEN OLD.locked_until IS NOT NULL
      BEGIN SELECT RAISE(ABORT, 'this record is append-only'); END;
    CREATE TRIGGER locked_records_are_kept BEFORE DELETE ON records WHEN OLD.locked_until > unixepoch() * 1000
      BEGIN SELECT RAISE(ABORT, 'this record is append-only'); END;
    -- Replacing a row removes the one before it, of which the triggers above are not told.
    CREATE TRIGGER locked_records_are_never_replaced BEFORE INSERT ON records
      WHEN EXISTS (SELECT 1 FROM records WHERE kind = NEW.kind AND key = NEW.key AND locked_until IS NOT NULL)
      BEGIN SELECT RAISE(ABORT, 'this record is append-only'); END;
    `,
  ],
};

/** More than most records have. */
const placesPerRecord = 4;
/** Records that are held between two commits. */
const heldMax = 1_000;

interface RecordRow {
  version: number;
  value: string;
  expiresAt: number | null;
}

/** Makes all of the writes inside the open transaction, or returns false and makes none. */
export function prepareRecordWrites(
  database: Database,
): (writes: readonly RecordWrite[], now: number) => boolean {
  const find = database.query<Pick<RecordRow, 'version' | 'expiresAt'>, [string, string]>(
    'SELECT version, expires_at AS expiresAt FROM records WHERE kind = ? AND key = ?',
  );
  const write = database.query(`
    INSERT INTO records (kind, key, version, value, expires_at, locked_until) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
    ON CONFLICT (kind, key) DO UPDATE SET version = ?3, value = ?4, expires_at = ?5, locked_until = ?6`);
  const erase = database.query('DELETE FROM records WHERE kind = ? AND key = ?');
  const addPlace = database.query(`
    INSERT OR REPLACE INTO record_places (kind, name, partition, sort, key, expires_at) VALUES (?, ?, ?, ?, ?, ?)`);
  const removePlace = database.query(
    'DELETE FROM record_places WHERE kind = ? AND name = ? AND partition = ? AND sort = ? AND key = ?',
  );

  const isAsExpected = ({ kind, key, expected }: RecordWrite, now: number): boolean => {
    const row = find.get(kind, key);
    const isThere = row !== null && (row.expiresAt === null || row.expiresAt > now);
    return (isThere ? row.version : null) === expected;
  };

  return (writes, now) => {
    if (!writes.every(each => isAsExpected(each, now))) return false;
    for (const { kind, key, put, addedPlaces, removedPlaces } of writes) {
      if (put === null) erase.run(kind, key);
      if (put) write.run(kind, key, put.version, put.value, put.expiresAt, put.lockedUntil);
      for (const { index, partition, sort } of removedPlaces)
        removePlace.run(kind, index, partition, sort, key);
      for (const { index, partition, sort } of addedPlaces) {
        addPlace.run(kind, index, partition, sort, key, put?.expiresAt ?? null);
      }
    }
    return true;
  };
}

export function recordOperations(database: Database) {
  const write = prepareRecordWrites(database);
  const expire = database.query(`
    DELETE FROM records WHERE (kind, key) IN (
      SELECT kind, key FROM records WHERE expires_at <= ?1 AND (locked_until IS NULL OR locked_until <= ?1 - 60000) LIMIT ?2)`);
  const expirePlaces = database.query(`
    DELETE FROM record_places WHERE (kind, name, partition, sort, key) IN (
      SELECT kind, name, partition, sort, key FROM record_places WHERE expires_at <= ? LIMIT ?)`);
  return {
    transactRecords: ({ writes, now }: { writes: readonly RecordWrite[]; now: number }): boolean =>
      write(writes, now),
    removeExpiredRecords({ now, limit }: { now: number; limit: number }): number {
      expirePlaces.run(now, limit * placesPerRecord);
      return expire.run(now, limit).changes;
    },
  };
}

export type RecordOperations = ReturnType<typeof recordOperations>;

const placed = `
  SELECT sort, records.key, version, value, records.expires_at AS expiresAt FROM record_places
  CROSS JOIN records ON records.kind = record_places.kind AND records.key = record_places.key
  WHERE record_places.kind = $kind AND name = $index AND partition = $partition
    AND (records.expires_at IS NULL OR records.expires_at > $now)`;

export function createSqliteRecords(
  reader: Database,
  writer: Pick<SqliteWriter<RecordOperations>, 'run'>,
  clock: Pick<Clock, 'now'>,
): RecordStore {
  const byKey = reader.query<RecordRow, [string, string]>(
    'SELECT version, value, expires_at AS expiresAt FROM records WHERE kind = ? AND key = ?',
  );
  const walked = reader.query<WalkedRecord, [string, string, number, number]>(`
    SELECT kind, key, value, expires_at AS expiresAt FROM records
    WHERE (kind, key) > (?, ?) AND (expires_at IS NULL OR expires_at > ?) ORDER BY kind, key LIMIT ?`);
  const dataVersion = reader.query<{ data_version: number }, []>('PRAGMA data_version');
  const read = (kind: string, key: string): Stored<unknown> | undefined => {
    const row = byKey.get(kind, key);
    return row === null ? undefined : storedOf({ key, ...row });
  };
  const unexpired = <Value>(found: Stored<unknown> | undefined): Stored<Value> | undefined => {
    const isThere = found !== undefined && (found.expiresAt === null || found.expiresAt > clock.now());
    return isThere ? (found as Stored<Value>) : undefined;
  };
  const find = <Value>(kind: RecordKind<Value>, key: string) => unexpired<Value>(read(kind.name, key));

  /** Records read since the last commit: every request with the same key reads the same three. */
  const held = new Map<string, Stored<unknown> | undefined>();
  let heldVersion: number | undefined;
  /** As current as a read: `data_version` says, at less cost, whether any other connection has committed since. */
  const findHeld = <Value>(kind: RecordKind<Value>, key: string): Stored<Value> | undefined => {
    const version = dataVersion.get()!.data_version;
    if (version !== heldVersion || held.size >= heldMax) held.clear();
    heldVersion = version;
    const name = `${kind.name} ${key}`;
    if (!held.has(name)) held.set(name, deepFreeze(read(kind.name, key)));
    return unexpired<Value>(held.get(name));
  };
  return {
    get: async (kind, key) => findHeld(kind, key),
    getMany: async (kind, keys) => keys.map(key => find(kind, key)),
    async query(kind, index, { partition, from, to, descending = false }, { limit, cursor }) {
      const after = cursor === undefined ? undefined : positionOf(cursor);
      const [beyond, order] = descending ? ['<', 'DESC'] : ['>', 'ASC'];
      const conditions = [
        from === undefined ? '' : 'AND sort >= $from',
        to === undefined ? '' : 'AND sort < $to',
        after === undefined ? '' : `AND (sort, record_places.key) ${beyond} ($sort, $key)`,
      ];
      const found = reader
        .query<FoundRecord, [Record<string, string | number>]>(
          `${placed} ${conditions.join(' ')} ORDER BY sort ${order}, record_places.key ${order} LIMIT $limit`,
        )
        .all({
          kind: kind.name,
          index,
          partition,
          now: clock.now(),
          limit: limit + 1,
          ...(from !== undefined && { from }),
          ...(to !== undefined && { to }),
          ...after,
        });
      return pageOf(kind, index, partition, found, limit);
    },
    async transact(writes) {
      const isDone = await writer.run('transactRecords', { writes, now: clock.now() }, writes.length);
      // A migration writes over the connection that it reads from, whose own commits do not change `data_version`.
      held.clear();
      return isDone ? 'done' : 'conflict';
    },
    async walk({ limit, cursor }) {
      const after = cursor === undefined ? { sort: '', key: '' } : positionOf(cursor);
      const records = walked.all(after.sort, after.key, clock.now(), limit);
      const last = records.at(-1);
      const isEnd = last === undefined || records.length < limit;
      return { records, next: isEnd ? undefined : cursorOf({ sort: last.kind, key: last.key }) };
    },
    removeExpired: limit => writer.run('removeExpiredRecords', { now: clock.now(), limit }, limit),
  };
}

/** Several callers get the same object. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null) return value;
  for (const each of Object.values(value)) deepFreeze(each);
  return Object.freeze(value);
}
