/**
 * Carries the rows of a table: walked along its key, looked up by it, written over by it. Rows travel as one JSON text
 * whose types are the table's own, so each step is one statement, however many rows there are.
 */
import {
  type ColumnValue,
  type ProgressNotes,
  type Transfer,
  type TransferredTable,
  transferOf,
  upsertOf,
} from '../../base/transfer.ts';
import type { MigrationSet } from './migrations.ts';
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
    );
    CREATE TABLE transferred_audit (key TEXT COLLATE "C" PRIMARY KEY, seq BIGINT NOT NULL UNIQUE);
    `,
  ],
};

/** Undefined where no migration has ever begun. */
export async function readProgress(postgres: Postgres): Promise<string | undefined> {
  const [table] = await postgres.query<{ name: string | null }>(
    "SELECT to_regclass('transfer_progress')::text AS name",
  );
  if (table === undefined || table.name === null) return undefined;
  const [row] = await postgres.query<{ progress: string }>('SELECT progress FROM transfer_progress');
  return row?.progress;
}

export const progressNotes = (postgres: Postgres): ProgressNotes => ({
  load: () => readProgress(postgres),
  async take(runner, text) {
    await postgres.query(
      `INSERT INTO transfer_progress (only_row, runner, progress) VALUES (1, $1, $2)
       ON CONFLICT (only_row) DO UPDATE SET runner = excluded.runner, progress = excluded.progress`,
      [runner, text],
    );
  },
  async save(runner, text) {
    const rows = await postgres.query(
      'UPDATE transfer_progress SET progress = $2 WHERE runner = $1 RETURNING only_row',
      [runner, text],
    );
    return rows.length === 1;
  },
});
