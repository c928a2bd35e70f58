/**
 * What a migration keeps in the database it copies into: how far it has come, and which entries of the audit log it
 * has appended, by their ids where they come from. No other process reads these tables but to see that they are there.
 */
import type { ProgressNotes } from '../../base/transfer.ts';
import type { MigrationSet } from './migrations.ts';
import type { Postgres } from './postgres.ts';

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
