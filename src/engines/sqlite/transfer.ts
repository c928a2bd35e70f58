/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. A migration has a connection
 * of its own, so nothing here goes through the writer thread.
 */
import type { Database } from 'bun:sqlite';
import {
  type ColumnValue,
  type ProgressNotes,
  type TableRow,
  type Transfer,
  type TransferredTable,
  transferOf,
  upsertOf,
} from '../../base/transfer.ts';
import { withBusyRetry } from './database.ts';
import type { MigrationSet } from './migrations.ts';

export function tableTransfer<Value, Row extends object>(
  database: Database,
  shape: TransferredTable<Value, Row>,
): Transfer<Value> {
  const { table, key, columns } = shape;
  const place = key.join(', ');
  const selected = columns.map(column => `${table}.${column}`).join(', ');
  const isWanted = key.map((column, index) => `${table}.${column} = wanted.value ->> ${index}`);
  const upsert = upsertOf(shape, `VALUES (${columns.map(column => `$${column}`).join(', ')})`, 'max');
  const removal = `DELETE FROM ${table} WHERE ${key.map(column => `${column} = ?`).join(' AND ')}`;
  return transferOf(shape, {
    async page(after = [], limit) {
      const isAfter = after.length === 0 ? '' : `WHERE (${place}) > (${key.map(() => '?').join(', ')})`;
      return database
        .query<Row & TableRow, ColumnValue[]>(
          `SELECT ${selected} FROM ${table} ${isAfter} ORDER BY ${place} LIMIT ?`,
        )
        .all(...after, limit);
    },
    find: async keys =>
      database
        .query<Row & TableRow, [string]>(
          `SELECT ${selected} FROM json_each(?) AS wanted CROSS JOIN ${table} ON ${isWanted.join(' AND ')}`,
        )
        .all(JSON.stringify(keys)),
    async upsert(rows) {
      inTransaction(database, () => {
        for (const row of rows) database.query<unknown, [TableRow]>(upsert).run(row);
      });
    },
    async remove(keys) {
      inTransaction(database, () => {
        for (const values of keys) database.query<unknown, ColumnValue[]>(removal).run(...values);
      });
    },
  });
}

/** Either all of it is kept or nothing. */
export function inTransaction(database: Database, work: () => void): void {
  withBusyRetry(() => database.run('BEGIN IMMEDIATE'));
  try {
    work();
    withBusyRetry(() => database.run('COMMIT'));
  } catch (error) {
    if (database.inTransaction) database.run('ROLLBACK');
    throw error;
  }
}

/**
 * What a migration keeps in the database it copies into: how far it has come, and which entries of the audit log it
 * has appended, by their ids where they come from. No other process reads these tables but to see that they are there.
 */
export const transferMigrations: MigrationSet = {
  component: 'transfer',
  steps: [
    `
    CREATE TABLE transfer_progress (
      only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
      runner TEXT NOT NULL,
      progress TEXT NOT NULL
    ) STRICT;
    CREATE TABLE transferred_audit (key TEXT PRIMARY KEY, seq INTEGER NOT NULL UNIQUE) STRICT, WITHOUT ROWID;
    `,
  ],
};

/** Undefined where no migration has ever begun. */
export function readProgress(database: Database): string | undefined {
  const table = database
    .query("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'transfer_progress'")
    .get();
  if (table === null) return undefined;
  const row = database.query<{ progress: string }, []>('SELECT progress FROM transfer_progress').get();
  return row?.progress;
}

export const progressNotes = (database: Database): ProgressNotes => ({
  load: async () => readProgress(database),
  async take(runner, text) {
    withBusyRetry(() =>
      database.run('INSERT OR REPLACE INTO transfer_progress (only_row, runner, progress) VALUES (1, ?, ?)', [
        runner,
        text,
      ]),
    );
  },
  async save(runner, text) {
    const { changes } = withBusyRetry(() =>
      database.run('UPDATE transfer_progress SET progress = ?2 WHERE runner = ?1', [runner, text]),
    );
    return changes === 1;
  },
});
