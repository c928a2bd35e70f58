/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. Rows travel as one JSON text
 * whose types are the table's own, so each step is one statement, however many rows there are.
 */
import type { Transfer } from '../../base/transfer.ts';
import {
  type ColumnValue,
  type TransferredTable,
  transferOf,
  upsertOf,
} from '../../base/transferred-table.ts';
import type { Postgres } from './postgres.ts';

export function tableTransfer<Value, Row extends object>(
  postgres: Postgres,
  shape: TransferredTable<Value, Row>,
): Transfer<Value> {
  const { table, key, columns } = shape;
  const place = key.join(', ');
  const given = `json_populate_recordset(NULL::${table}, $1::json) AS given`;
  const selected = columns.map(column => `${table}.${column}`).join(', ');
  const isSame = key.map(column => `${table}.${column} = given.${column}`).join(' AND ');
  const upsert = upsertOf(
    shape,
    `SELECT ${columns.map(column => `given.${column}`).join(', ')} FROM ${given}`,
    'greatest',
  );
  const withKeys = (statement: string, keys: readonly ColumnValue[][]) => {
    const rows = keys.map(values => Object.fromEntries(key.map((column, index) => [column, values[index]!])));
    return postgres.query<Row & Record<string, ColumnValue>>(statement, [JSON.stringify(rows)]);
  };
  return transferOf(shape, {
    page(after = [], limit) {
      const isAfter =
        after.length === 0 ? '' : `WHERE (${place}) > (${key.map((_, index) => `$${index + 2}`).join(', ')})`;
      return postgres.query(`SELECT ${selected} FROM ${table} ${isAfter} ORDER BY ${place} LIMIT $1`, [
        limit,
        ...after,
      ]);
    },
    find: keys => withKeys(`SELECT ${selected} FROM ${given} JOIN ${table} ON ${isSame}`, keys),
    async upsert(rows) {
      await postgres.query(upsert, [JSON.stringify(rows)]);
    },
    async remove(keys) {
      await withKeys(`DELETE FROM ${table} USING ${given} WHERE ${isSame}`, keys);
    },
  });
}
