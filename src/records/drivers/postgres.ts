/**
 * Records in Postgres: one table of records and one of their places in indexes. Reads see committed data. Concurrent
 * gets share a statement; a list of keys has its own.
 *
 * A transaction first locks the records that it expects to find, in the order of their keys, and compares versions; then
 * it inserts those that it expects not to find, also in order, where the unique index decides. So two transactions never
 * both act on what the other changes, and never wait for each other in a circle.
 */
import { BatchedReads } from '../../base/batched-reads.ts';
import type { Clock } from '../../base/clock.ts';
import type { MigrationSet } from '../../engines/postgres/migrations.ts';
import {
  keysPerStatement,
  type Postgres,
  type PostgresTransaction,
  readDeadlineMs,
} from '../../engines/postgres/postgres.ts';
import {
  cursorOf,
  type FoundRecord,
  pageOf,
  positionOf,
  type RecordState,
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
      kind TEXT COLLATE "C" NOT NULL,
      key TEXT COLLATE "C" NOT NULL,
      version BIGINT NOT NULL,
      value TEXT NOT NULL,
      expires_at BIGINT,
      -- Of an append-only record: it is never changed, and not removed before this time.
      locked_until BIGINT,
      PRIMARY KEY (kind, key)
    );
    CREATE INDEX records_by_expiry ON records (expires_at) WHERE expires_at IS NOT NULL;
    CREATE TABLE record_places (
      kind TEXT COLLATE "C" NOT NULL,
      name TEXT COLLATE "C" NOT NULL,
      partition TEXT COLLATE "C" NOT NULL,
      sort TEXT COLLATE "C" NOT NULL,
      key TEXT COLLATE "C" NOT NULL,
      expires_at BIGINT,
      PRIMARY KEY (kind, name, partition, sort, key)
    );
    CREATE INDEX record_places_by_expiry ON record_places (expires_at) WHERE expires_at IS NOT NULL;

    CREATE FUNCTION refuse_locked_record() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'DELETE' AND OLD.locked_until <= extract(epoch FROM now()) * 1000 THEN
        RETURN OLD;
      END IF;
      RAISE EXCEPTION 'this record is append-only' USING ERRCODE = 'insufficient_privilege';
    END $$;
    CREATE TRIGGER locked_records_are_never_changed BEFORE UPDATE ON records
      FOR EACH ROW WHEN (OLD.locked_until IS NOT NULL) EXECUTE FUNCTION refuse_locked_record();
    CREATE TRIGGER locked_records_are_kept BEFORE DELETE ON records
      FOR EACH ROW WHEN (OLD.locked_until IS NOT NULL) EXECUTE FUNCTION refuse_locked_record();
    CREATE TRIGGER records_are_never_emptied BEFORE TRUNCATE ON records
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_locked_record();
    ALTER TABLE records ENABLE ALWAYS TRIGGER locked_records_are_never_changed;
    ALTER TABLE records ENABLE ALWAYS TRIGGER locked_records_are_kept;
    ALTER TABLE records ENABLE ALWAYS TRIGGER records_are_never_emptied;
    `,
  ],
};

/** Thrown inside a transaction to roll it back. */
export class RecordConflict extends Error {
  override readonly name = 'RecordConflict';
}

interface RecordRow {
  kind: string;
  key: string;
  version: number;
  value: string;
  expiresAt: number | null;
}

/** Stands for a record that has to be missing, until the end of the transaction. */
const absence: RecordState = { version: 0, value: 'null', expiresAt: null, lockedUntil: null };
/** More than most records have. */
const placesPerRecord = 4;

/** Call it inside the transaction of the change: it writes all, or throws `RecordConflict`. */
export async function writeRecords(
  tx: PostgresTransaction,
  writes: readonly RecordWrite[],
  now: number,
): Promise<void> {
  const present = writes.filter(({ expected }) => expected !== null);
  const absent = writes.filter(({ expected }) => expected === null);
  await lockExpected(tx, present, now);
  await insert(tx, absent, now);
  await update(tx, present);
  await erase(tx, [...present.filter(({ put }) => put === null), ...absent.filter(({ put }) => !put)]);
  await removePlaces(tx, writes);
  await addPlaces(tx, writes);
}

async function lockExpected(
  tx: PostgresTransaction,
  writes: readonly RecordWrite[],
  now: number,
): Promise<void> {
  if (writes.length === 0) return;
  const rows = await tx.query<Pick<RecordRow, 'kind' | 'key' | 'version' | 'expiresAt'>>(
    `SELECT kind, key, version, expires_at AS "expiresAt" FROM records
     JOIN unnest($1::text[], $2::text[]) AS wanted (kind, key) USING (kind, key)
     ORDER BY kind, key FOR UPDATE OF records`,
    columns(writes, ({ kind, key }) => [kind, key]),
  );
  const isAsExpected = ({ kind, key, expected }: RecordWrite): boolean =>
    rows.some(
      row =>
        row.kind === kind &&
        row.key === key &&
        row.version === expected &&
        (row.expiresAt === null || row.expiresAt > now),
    );
  if (!writes.every(isAsExpected)) throw new RecordConflict();
}

async function insert(tx: PostgresTransaction, writes: readonly RecordWrite[], now: number): Promise<void> {
  if (writes.length === 0) return;
  const inserted = await tx.query(
    `INSERT INTO records (kind, key, version, value, expires_at, locked_until)
     SELECT * FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[])
       AS added (kind, key, version, value, expires_at, locked_until)
     ORDER BY kind COLLATE "C", key COLLATE "C"
     ON CONFLICT (kind, key) DO UPDATE SET version = excluded.version, value = excluded.value,
       expires_at = excluded.expires_at, locked_until = excluded.locked_until
     WHERE records.expires_at <= $7 RETURNING 1`,
    [...columns(writes, write => rowOf(write, write.put ?? absence)), now],
  );
  if (inserted.length < writes.length) throw new RecordConflict();
}

async function update(tx: PostgresTransaction, writes: readonly RecordWrite[]): Promise<void> {
  const rows = writes.flatMap(write => (write.put ? [rowOf(write, write.put)] : []));
  if (rows.length === 0) return;
  await tx.query(
    `UPDATE records SET version = changed.version, value = changed.value, expires_at = changed.expires_at,
       locked_until = changed.locked_until
     FROM unnest($1::text[], $2::text[], $3::int8[], $4::text[], $5::int8[], $6::int8[])
       AS changed (kind, key, version, value, expires_at, locked_until)
     WHERE records.kind = changed.kind AND records.key = changed.key`,
    columns(rows, row => row),
  );
}

async function erase(tx: PostgresTransaction, writes: readonly RecordWrite[]): Promise<void> {
  if (writes.length === 0) return;
  await tx.query(
    `DELETE FROM records USING unnest($1::text[], $2::text[]) AS removed (kind, key)
     WHERE records.kind = removed.kind AND records.key = removed.key`,
    columns(writes, ({ kind, key }) => [kind, key]),
  );
}

async function removePlaces(tx: PostgresTransaction, writes: readonly RecordWrite[]): Promise<void> {
  const places = writes.flatMap(({ kind, key, removedPlaces }) =>
    removedPlaces.map(({ index, partition, sort }) => [kind, index, partition, sort, key]),
  );
  if (places.length === 0) return;
  await tx.query(
    `DELETE FROM record_places AS place
     USING unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) AS gone (kind, name, partition, sort, key)
     WHERE place.kind = gone.kind AND place.name = gone.name AND place.partition = gone.partition
       AND place.sort = gone.sort AND place.key = gone.key`,
    columns(places, place => place),
  );
}

async function addPlaces(tx: PostgresTransaction, writes: readonly RecordWrite[]): Promise<void> {
  const places = writes.flatMap(({ kind, key, put, addedPlaces }) =>
    addedPlaces.map(({ index, partition, sort }) => [
      kind,
      index,
      partition,
      sort,
      key,
      put?.expiresAt ?? null,
    ]),
  );
  if (places.length === 0) return;
  await tx.query(
    `INSERT INTO record_places (kind, name, partition, sort, key, expires_at)
     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[])
     ON CONFLICT (kind, name, partition, sort, key) DO UPDATE SET expires_at = excluded.expires_at`,
    columns(places, place => place),
  );
}

export function createPostgresRecords(postgres: Postgres, clock: Clock): RecordStore {
  const read = async (names: readonly string[], deadlineMs: number): Promise<Map<string, RecordRow>> => {
    const rows = await postgres.read<RecordRow>(
      `SELECT kind, key, version, value, expires_at AS "expiresAt" FROM records
       JOIN unnest($1::text[], $2::text[]) AS wanted (kind, key) USING (kind, key)`,
      columns(names, name => name.split(separator)),
      { name: 'get-records', deadlineMs },
    );
    return new Map(rows.map(row => [nameOf(row.kind, row.key), row]));
  };
  const gets = new BatchedReads<RecordRow>({
    clock,
    read,
    keysMax: keysPerStatement,
    deadlineMs: readDeadlineMs,
  });
  const liveOf = <Value>(row: RecordRow | undefined): Stored<Value> | undefined =>
    row !== undefined && (row.expiresAt === null || row.expiresAt > clock.now()) ? storedOf(row) : undefined;

  return {
    async get(kind, key) {
      return isPossible(key) ? liveOf(await gets.get(nameOf(kind.name, key))) : undefined;
    },
    async getMany(kind, keys) {
      const names = keys.filter(isPossible).map(key => nameOf(kind.name, key));
      if (names.length === 0) return keys.map(() => undefined);
      const rows = await read(names, readDeadlineMs);
      return keys.map(key => liveOf(rows.get(nameOf(kind.name, key))));
    },
    async query(kind, index, { partition, from, to, descending = false }, { limit, cursor }) {
      const after = cursor === undefined ? undefined : positionOf(cursor);
      const values: unknown[] = [kind.name, index, partition, clock.now(), limit + 1];
      const bound = (value: string): string => `$${values.push(value)}`;
      const [beyond, order] = descending ? ['<', 'DESC'] : ['>', 'ASC'];
      const conditions = [
        from === undefined ? '' : `AND sort >= ${bound(from)}`,
        to === undefined ? '' : `AND sort < ${bound(to)}`,
        after === undefined
          ? ''
          : `AND (sort, place.key) ${beyond} (${bound(after.sort)}, ${bound(after.key)})`,
      ];
      const found = await postgres.read<FoundRecord>(
        `SELECT sort, record.key, version, value, record.expires_at AS "expiresAt" FROM record_places AS place
         JOIN records AS record ON record.kind = place.kind AND record.key = place.key
         WHERE place.kind = $1 AND name = $2 AND partition = $3
           AND (record.expires_at IS NULL OR record.expires_at > $4) ${conditions.join(' ')}
         ORDER BY sort ${order}, place.key ${order} LIMIT $5`,
        values,
      );
      return pageOf(kind, index, partition, found, limit);
    },
    async transact(writes) {
      try {
        if (writes.length > 0) await postgres.transaction(tx => writeRecords(tx, writes, clock.now()));
        return 'done';
      } catch (error) {
        if (error instanceof RecordConflict) return 'conflict';
        throw error;
      }
    },
    async walk({ limit, cursor }) {
      const after = cursor === undefined ? { sort: '', key: '' } : positionOf(cursor);
      const records = await postgres.query<WalkedRecord>(
        `SELECT kind, key, value, expires_at AS "expiresAt" FROM records
         WHERE (kind, key) > ($1, $2) AND (expires_at IS NULL OR expires_at > $3) ORDER BY kind, key LIMIT $4`,
        [after.sort, after.key, clock.now(), limit],
      );
      const last = records.at(-1);
      const isEnd = last === undefined || records.length < limit;
      return { records, next: isEnd ? undefined : cursorOf({ sort: last.kind, key: last.key }) };
    },
    async removeExpired(limit) {
      const now = clock.now();
      await postgres.query(
        `DELETE FROM record_places WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM record_places WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED))`,
        [now, limit * placesPerRecord],
      );
      const removed = await postgres.query(
        `DELETE FROM records WHERE ctid = ANY (ARRAY(
           SELECT ctid FROM records WHERE expires_at <= $1
             AND (locked_until IS NULL OR locked_until <= $1 - 60000) LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING 1`,
        [now, limit],
      );
      return removed.length;
    },
  };
}

const separator = '\u0000';
/** Postgres refuses this character, so no record has it. */
const isPossible = (key: string): boolean => !key.includes(separator);
const nameOf = (kind: string, key: string): string => `${kind}${separator}${key}`;

const rowOf = ({ kind, key }: RecordWrite, { version, value, expiresAt, lockedUntil }: RecordState) => [
  kind,
  key,
  version,
  value,
  expiresAt,
  lockedUntil,
];

/** A column of values each, as `unnest` takes them. */
function columns<Item>(items: readonly Item[], rowOf: (item: Item) => readonly unknown[]): unknown[][] {
  const rows = items.map(rowOf);
  return rows[0]!.map((_, column) => rows.map(row => row[column]));
}
