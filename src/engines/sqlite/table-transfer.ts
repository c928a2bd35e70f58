/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. A migration has a connection
 * of its own, so nothing here goes through the writer thread.
 */
import type { Database } from 'bun:sqlite';
import { columnsOf, compositeKey, type Transfer } from '../../base/transfer.ts';
import type { ColumnValue, TableRow, TransferredTable } from '../../base/transferred-table.ts';
import { withBusyRetry } from './database.ts';

export function tableTransfer<Value, Row extends object>(
  database: Database,
  shape: TransferredTable<Value, Row>,
): Transfer<Value> {
  type Found = Row & TableRow;
  const { key, afterwards } = shape;
  const order = shape.order === undefined ? key : [shape.order];
  const sql = statementsOf(shape, order);
  const recordOf = (row: Found) => ({ key: keyOf(row, key), value: shape.valueOf(row) });
  const placesOf = (given: string): ColumnValue[] => (key.length === 1 ? [given] : columnsOf(given));

  const change = (work: () => void): void =>
    inTransaction(database, () => {
      work();
      if (afterwards !== undefined) database.query(afterwards).run();
    });

  return {
    part: shape.part,
    async page(cursor, limit) {
      const after = cursor === undefined ? [] : columnsOf(cursor);
      const statement = cursor === undefined ? sql.firstPage : sql.nextPage;
      const rows = database.query<Found, ColumnValue[]>(statement).all(...after, limit);
      const last = rows.at(-1);
      const isEnd = last === undefined || rows.length < limit;
      const next = isEnd ? undefined : compositeKey(...order.map(column => last[column] as string | number));
      return { records: rows.map(recordOf), next };
    },
    async read(keys) {
      const places = JSON.stringify(keys.map(placesOf));
      return database.query<Found, [string]>(sql.wanted).all(places).map(recordOf);
    },
    async write(records) {
      change(() => {
        for (const { value } of records) {
          const row = shape.rowOf(value);
          for (const statement of sql.makeWay) runNamed(database, statement, row);
          runNamed(database, sql.upsert, row);
        }
      });
    },
    async remove(keys) {
      change(() => {
        for (const each of keys) database.query<unknown, ColumnValue[]>(sql.removal).run(...placesOf(each));
      });
    },
  };
}

function statementsOf<Value, Row extends object>(
  { table, key, columns, raised = [], unique = [], needs }: TransferredTable<Value, Row>,
  order: readonly string[],
) {
  const selected = [...new Set([...columns, ...order])].map(column => `${table}.${column}`).join(', ');
  const ordered = `ORDER BY ${order.join(', ')} LIMIT ?`;
  const isOther = key.map(column => `${column} <> $${column}`).join(' OR ');
  const assigned = columns
    .filter(column => !key.includes(column))
    .map(column =>
      raised.includes(column)
        ? `${column} = max(${column}, excluded.${column})`
        : `${column} = excluded.${column}`,
    );
  const isComplete =
    needs === undefined
      ? 'true'
      : `EXISTS (SELECT 1 FROM ${needs.table} WHERE ${needs.table}.id = $${needs.column})`;
  return {
    firstPage: `SELECT ${selected} FROM ${table} ${ordered}`,
    nextPage: `
      SELECT ${selected} FROM ${table}
      WHERE (${order.join(', ')}) > (${order.map(() => '?').join(', ')}) ${ordered}`,
    wanted: `
      SELECT ${selected} FROM json_each(?) AS wanted CROSS JOIN ${table}
      ON ${key.map((column, index) => `${table}.${column} = wanted.value ->> ${index}`).join(' AND ')}`,
    makeWay: unique.map(({ column, givesUp }) => {
      const change =
        givesUp === 'row'
          ? `DELETE FROM ${table}`
          : `UPDATE ${table} SET ${givesUp.map(each => `${each} = NULL`).join(', ')}`;
      return `${change} WHERE ${column} = $${column} AND (${isOther})`;
    }),
    upsert: `
      INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.map(column => `$${column}`).join(', ')}
      WHERE ${isComplete} ON CONFLICT (${key.join(', ')}) DO
      ${assigned.length === 0 ? 'NOTHING' : `UPDATE SET ${assigned.join(', ')}`}`,
    removal: `DELETE FROM ${table} WHERE ${key.map(column => `${column} = ?`).join(' AND ')}`,
  };
}

function keyOf(row: TableRow, key: readonly string[]): string {
  const values = key.map(column => row[column] as string | number);
  return values.length === 1 ? String(values[0]) : compositeKey(...values);
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

/** Binds those of the row's columns that the statement names. */
function runNamed(database: Database, statement: string, row: TableRow): void {
  const names = new Set(statement.match(/(?<=\$)\w+/g));
  const bindings = Object.fromEntries(Object.entries(row).filter(([name]) => names.has(name)));
  database.query<unknown, [TableRow]>(statement).run(bindings);
}
