/**
 * What a migration keeps in the database it copies into: how far it has come, and which entries of the audit log it
 * has appended, by their ids where they come from. No other process reads these tables but to see that they are there.
 */
import type { Database } from 'bun:sqlite';
import type { ProgressNotes } from '../../base/transfer.ts';
import { withBusyRetry } from './database.ts';
import type { MigrationSet } from './migrations.ts';

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
