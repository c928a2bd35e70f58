/**
 * Results in a file of their own in the data folder, which the processes of one machine share. It can be deleted at any
 * time: the next round fills it again. Whoever answers requests only reads; the thread that checks writes.
 */
import type { Database } from 'bun:sqlite';
import { rmSync } from 'node:fs';
import { openForWriting, withBusyRetry } from '../../../engines/sqlite/database.ts';
import { type MigrationSet, migrate } from '../../../engines/sqlite/migrations.ts';
import type { HealthRecord, Silence } from '../../health.ts';
import { type HealthStore, type WalkPosition, walkStart } from '../../store.ts';

const healthMigrations: MigrationSet = {
  component: 'health',
  steps: [
    `
    CREATE TABLE health (
      code TEXT PRIMARY KEY,
      destination TEXT NOT NULL,
      checked_at INTEGER NOT NULL,
      failing_since INTEGER,
      http_status INTEGER,
      reason TEXT,
      kept_until INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE INDEX health_by_kept_until ON health (kept_until);
    CREATE TABLE walk (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      runner TEXT NOT NULL,
      turn_until INTEGER NOT NULL,
      round_at INTEGER NOT NULL,
      cursor TEXT
    ) STRICT;
    `,
  ],
};

interface HealthRow {
  readonly code: string;
  readonly destination: string;
  readonly checked_at: number;
  readonly failing_since: number | null;
  readonly http_status: number | null;
  readonly reason: Silence | null;
}

interface WalkRow {
  readonly runner: string;
  readonly turn_until: number;
  readonly round_at: number;
  readonly cursor: string | null;
}

/** Forgotten with every page that is saved, so that none takes long. */
const forgottenMax = 1_000;

/** A file that turns out to be damaged is thrown away: whatever is in it is found again. */
export function openSqliteHealthStore(path: string): HealthStore {
  try {
    return storeIn(open(path));
  } catch (error) {
    if (!isDamage(error)) throw error;
    for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true });
    return storeIn(open(path));
  }
}

function open(path: string): Database {
  const database = openForWriting(path);
  try {
    migrate(database, healthMigrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

const isDamage = (error: unknown): boolean =>
  error instanceof Error && /^SQLITE_(NOTADB|CORRUPT)/.test((error as { code?: string }).code ?? '');

function storeIn(database: Database): HealthStore {
  const wanted = database.query<HealthRow, [string]>(
    'SELECT health.* FROM json_each(?) AS wanted CROSS JOIN health ON health.code = wanted.value',
  );
  const put = database.query(`
    INSERT OR REPLACE INTO health (code, destination, checked_at, failing_since, http_status, reason, kept_until)
    VALUES (?, ?, ?, ?, ?, ?, ?)`);
  const forget = database.query(
    'DELETE FROM health WHERE code IN (SELECT code FROM health WHERE kept_until < ? LIMIT ?)',
  );
  const readWalk = database.query<WalkRow, []>('SELECT * FROM walk');
  const writeWalk = database.query(
    'INSERT OR REPLACE INTO walk (only_row, runner, turn_until, round_at, cursor) VALUES (1, ?, ?, ?, ?)',
  );

  return {
    async find(codes) {
      const rows = new Map(wanted.all(JSON.stringify(codes)).map(row => [row.code, recordOf(row)]));
      return codes.map(code => rows.get(code));
    },
    async save(records, now, keepMs) {
      atOnce(database, () => {
        forget.run(now, forgottenMax);
        for (const { code, destination, checkedAt, failingSince, httpStatus, reason } of records) {
          put.run(code, destination, checkedAt, failingSince, httpStatus, reason, now + keepMs);
        }
      });
    },
    takeTurn: async (runner, now, turnMs) =>
      atOnce(database, () => {
        const row = readWalk.get();
        if (row !== null && row.runner !== runner && now < row.turn_until) return undefined;
        const position = row === null ? walkStart : positionOf(row);
        writeWalk.run(runner, now + turnMs, position.roundAt, position.cursor);
        return position;
      }),
    noteTurn: async (runner, { roundAt, cursor }) =>
      atOnce(database, () => {
        const row = readWalk.get();
        if (row?.runner !== runner) return false;
        writeWalk.run(runner, row.turn_until, roundAt, cursor);
        return true;
      }),
    async close() {
      database.close();
    },
  };
}

const recordOf = (row: HealthRow): HealthRecord => ({
  code: row.code,
  destination: row.destination,
  checkedAt: row.checked_at,
  failingSince: row.failing_since,
  httpStatus: row.http_status,
  reason: row.reason,
});

const positionOf = ({ round_at, cursor }: WalkRow): WalkPosition => ({ roundAt: round_at, cursor });

function atOnce<Result>(database: Database, work: () => Result): Result {
  withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
  try {
    const result = work();
    withBusyRetry(() => database.run('COMMIT'));
    return result;
  } catch (error) {
    if (database.inTransaction) database.run('ROLLBACK');
    throw error;
  }
}
