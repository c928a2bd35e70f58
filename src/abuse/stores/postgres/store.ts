/**
 * Operator entries in Postgres, beside the links. Whoever changes them holds the row with their revision from the
 * start, so changes happen one after the other: their number stays bounded and `seq` is the order of their commits.
 */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import {
  entryRecord,
  type OperatorEntry,
  type OperatorEntryStore,
  operatorEntriesMax,
} from '../../operator-entries.ts';

interface EntryRow {
  id: string;
  entry: string;
  reason: string | null;
  added_at: number;
  added_by: string | null;
}

const columns = 'id, entry, reason, added_at, added_by';

export function createPostgresEntryStore(postgres: Postgres): OperatorEntryStore {
  return {
    async revision() {
      const [row] = await postgres.read<{ revision: number }>('SELECT revision FROM block_revision');
      return row!.revision;
    },
    async list() {
      const rows = await postgres.read<EntryRow>(`SELECT ${columns} FROM block_entries ORDER BY seq`);
      return rows.map(operatorEntryOf);
    },
    add: (entry, change) =>
      postgres.transaction(async tx => {
        await takeTurn(tx);
        const [known] = await tx.query('SELECT 1 FROM block_entries WHERE id = $1', [entry.id]);
        if (known !== undefined) return 'exists';
        const [count] = await tx.query<{ kept: number }>('SELECT count(*) AS kept FROM block_entries');
        if (count!.kept >= operatorEntriesMax) return 'full';
        await tx.query(`INSERT INTO block_entries (${columns}) VALUES ($1, $2, $3, $4, $5)`, [
          entry.id,
          entry.entry,
          entry.reason,
          entry.addedAt,
          entry.addedBy,
        ]);
        await raiseRevision(tx);
        await appendAudit(tx, [entryRecord('added', entry, change)]);
        return 'added';
      }),
    remove: (id, change) =>
      postgres.transaction(async tx => {
        await takeTurn(tx);
        const [row] = await tx.query<EntryRow>(
          `DELETE FROM block_entries WHERE id = $1 RETURNING ${columns}`,
          [id],
        );
        if (row === undefined) return false;
        await raiseRevision(tx);
        await appendAudit(tx, [entryRecord('removed', operatorEntryOf(row), change)]);
        return true;
      }),
  };
}

async function takeTurn(tx: PostgresTransaction): Promise<void> {
  await tx.query('SELECT 1 FROM block_revision FOR UPDATE');
}

async function raiseRevision(tx: PostgresTransaction): Promise<void> {
  await tx.query('UPDATE block_revision SET revision = revision + 1');
}

const operatorEntryOf = (row: EntryRow): OperatorEntry => ({
  id: row.id,
  entry: row.entry,
  reason: row.reason,
  addedAt: row.added_at,
  addedBy: row.added_by,
});
