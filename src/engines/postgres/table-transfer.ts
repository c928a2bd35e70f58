/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. Rows travel as one JSON text
 * whose types are the table's own, so each step is one statement, however many rows there are.
 */
import { columnsOf, compositeKey, type Transfer } from '../../base/transfer.ts';
import type { ColumnValue, TableRow, TransferredTable } from '../../base/transferred-table.ts';
import type { Postgres, PostgresTransaction } from './postgres.ts';

export function tableTransfer<Value, Row extends object>(
  postgres: Postgres,
  shape: TransferredTable<Value, Row>,
): Transfer<Value> {
  type Found = Row & TableRow;
  const { key, afterwards } = shape;
  const order = shape.order === undefined ? key : [shape.order];
  const sql = statementsOf(shape, order);
  const recordOf = (row: Found) => ({ key: keyOf(row, key), value: shape.valueOf(row) });
  const wantedRow = (given: string): TableRow => {
    const places: ColumnValue[] = key.length === 1 ? [given] : columnsOf(given);
    return Object.fromEntries(key.map((column, index) => [column, places[index]!]));
  };

  const change = (work: (tx: PostgresTransaction) => Promise<unknown>): Promise<void> =>
    postgres.transaction(async tx => {
      await work(tx);
      if (afterwards !== undefined) await tx.query(afterwards);
    });

  return {
    part: shape.part,
    async page(cursor, limit) {
      const after = cursor === undefined ? [] : columnsOf(cursor);
      const rows = await postgres.query<Found>(cursor === undefined ? sql.firstPage : sql.nextPage, [
        limit,
        ...after,
      ]);
      const last = rows.at(-1);
      const isEnd = last === undefined || rows.length < limit;
      const next = isEnd ? undefined : compositeKey(...order.map(column => last[column] as string | number));
      return { records: rows.map(recordOf), next };
    },
    async read(keys) {
      return (await postgres.query<Found>(sql.wanted, [JSON.stringify(keys.map(wantedRow))])).map(recordOf);
    },
    async write(records) {
      const rows = JSON.stringify(records.map(({ value }) => shape.rowOf(value)));
      await change(async tx => {
        for (const statement of sql.makeWay) await tx.query(statement, [rows]);
        await tx.query(sql.upsert, [rows]);
      });
    },
    async remove(keys) {
      await change(tx => tx.query(sql.removal, [JSON.stringify(keys.map(wantedRow))]));
    },
  };
}

function statementsOf<Value, Row extends object>(
  { table, key, columns, raised = [], unique = [], needs }: TransferredTable<Value, Row>,
  order: readonly string[],
) {
  const given = `json_populate_recordset(NULL::${table}, $1::json)`;
  const selected = [...new Set([...columns, ...order])].map(column => `${table}.${column}`).join(', ');
  const isSame = key.map(column => `${table}.${column} = given.${column}`).join(' AND ');
  const isOther = key.map(column => `${table}.${column} <> given.${column}`).join(' OR ');
  const ordered = `ORDER BY ${order.join(', ')} LIMIT $1`;
  const assigned = columns
    .filter(column => !key.includes(column))
    .map(column =>
      raised.includes(column)
        ? `${column} = greatest(${table}.${column}, excluded.${column})`
        : `${column} = excluded.${column}`,
    );
  const isComplete =
    needs === undefined
      ? 'true'
      : `EXISTS (SELECT 1 FROM ${needs.table} WHERE ${needs.table}.id = given.${needs.column})`;
  return {
    firstPage: `SELECT ${selected} FROM ${table} ${ordered}`,
    nextPage: `
      SELECT ${selected} FROM ${table}
      WHERE (${order.join(', ')}) > (${order.map((_, index) => `$${index + 2}`).join(', ')}) ${ordered}`,
    wanted: `SELECT ${selected} FROM ${given} AS given JOIN ${table} ON ${isSame}`,
    makeWay: unique.map(({ column, givesUp }) => {
      const holds = `${table}.${column} = given.${column} AND (${isOther})`;
      return givesUp === 'row'
        ? `DELETE FROM ${table} USING ${given} AS given WHERE ${holds}`
        : `UPDATE ${table} SET ${givesUp.map(each => `${each} = NULL`).join(', ')}
           FROM ${given} AS given WHERE ${holds}`;
    }),
    upsert: `
      INSERT INTO ${table} (${columns.join(', ')}) SELECT ${columns.map(column => `given.${column}`).join(', ')}
      FROM ${given} WITH ORDINALITY AS given WHERE ${isComplete} ORDER BY given.ordinality
      ON CONFLICT (${key.join(', ')}) DO
      ${assigned.length === 0 ? 'NOTHING' : `UPDATE SET ${assigned.join(', ')}`}`,
    removal: `DELETE FROM ${table} USING ${given} AS given WHERE ${isSame}`,
  };
}

function keyOf(row: TableRow, key: readonly string[]): string {
  const values = key.map(column => row[column] as string | number);
  return values.length === 1 ? String(values[0]) : compositeKey(...values);
}
