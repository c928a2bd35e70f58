/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. A migration has a connection
 * of its own, so nothing here goes through the writer thread.
 */
import type { Database } from 'bun:sqlite';
import {
  type ColumnValue,
  type TableRow,
  type Transfer,
  type TransferredTable,
  transferOf,
  upsertOf,
} from '../../base/transfer.ts';
import { withBusyRetry } from './database.ts';

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
