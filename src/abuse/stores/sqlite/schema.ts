/** Operator entries on disk: a small table, read whole, and a number that changes with it. */
import type { MigrationSet } from '../../../engines/sqlite/migrations.ts';

export const blocklistMigrations: MigrationSet = {
  component: 'blocklist',
  steps: [
    `
    CREATE TABLE block_entries (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      entry TEXT NOT NULL,
      reason TEXT,
      added_at INTEGER NOT NULL,
      added_by TEXT
    ) STRICT;
    CREATE TABLE block_revision (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision INTEGER NOT NULL) STRICT;
    INSERT INTO block_revision (only_row, revision) VALUES (1, 0);
    `,
  ],
};

export interface BlockEntryRow {
  id: string;
  entry: string;
  reason: string | null;
  added_at: number;
  added_by: string | null;
}
