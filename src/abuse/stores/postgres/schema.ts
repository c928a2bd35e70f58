/** Operator entries in Postgres: a small table, read whole, and a number that changes with it. */
import type { MigrationSet } from '../../../engines/postgres/migrations.ts';

export const blocklistMigrations: MigrationSet = {
  component: 'blocklist',
  steps: [
    `
    CREATE TABLE block_entries (
      seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id TEXT COLLATE "C" NOT NULL UNIQUE,
      entry TEXT NOT NULL,
      reason TEXT,
      added_at BIGINT NOT NULL,
      added_by TEXT
    );
    CREATE TABLE block_revision (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision BIGINT NOT NULL);
    INSERT INTO block_revision (only_row, revision) VALUES (1, 0);
    `,
  ],
};
