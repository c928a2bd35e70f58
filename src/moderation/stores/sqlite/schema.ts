/** Reviews and reports on disk: one row for each link that anyone ever had doubts about. */
import type { MigrationSet } from '../../../engines/sqlite/migrations.ts';

export const moderationMigrations: MigrationSet = {
  component: 'moderation',
  steps: [
    `
    CREATE TABLE reviews (
      code TEXT PRIMARY KEY,
      opened_at INTEGER,
      -- Where it stands in the queue: smaller is sooner.
      place INTEGER,
      score INTEGER NOT NULL,
      held_from TEXT,
      reporters INTEGER NOT NULL,
      appeal TEXT,
      appealed_at INTEGER,
      appeals INTEGER NOT NULL,
      decided_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX reviews_by_place ON reviews (place, code) WHERE opened_at IS NOT NULL;
    CREATE INDEX reviews_by_age ON reviews (opened_at) WHERE opened_at IS NOT NULL;

    CREATE TABLE reports (
      code TEXT NOT NULL,
      reporter TEXT NOT NULL,
      category TEXT NOT NULL,
      text TEXT,
      at INTEGER NOT NULL,
      times INTEGER NOT NULL,
      PRIMARY KEY (code, reporter)
    ) STRICT, WITHOUT ROWID;
    `,
  ],
};
