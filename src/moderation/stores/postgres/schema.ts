/** Reviews and reports in Postgres: one row for each link that anyone ever had doubts about. */
import type { MigrationSet } from '../../../engines/postgres/migrations.ts';

export const moderationMigrations: MigrationSet = {
  component: 'moderation',
  steps: [
    `
    CREATE TABLE reviews (
      code TEXT COLLATE "C" PRIMARY KEY,
      opened_at BIGINT,
      -- Where it stands in the queue: smaller is sooner.
      place BIGINT,
      score INTEGER NOT NULL DEFAULT 0,
      held_from TEXT,
      reporters INTEGER NOT NULL DEFAULT 0,
      appeal TEXT,
      appealed_at BIGINT,
      appeals INTEGER NOT NULL DEFAULT 0,
      decided_at BIGINT
    );
    CREATE INDEX reviews_by_place ON reviews (place, code) WHERE opened_at IS NOT NULL;
    CREATE INDEX reviews_by_age ON reviews (opened_at) WHERE opened_at IS NOT NULL;

    CREATE TABLE reports (
      code TEXT COLLATE "C" NOT NULL,
      reporter TEXT COLLATE "C" NOT NULL,
      category TEXT NOT NULL,
      text TEXT,
      at BIGINT NOT NULL,
      times INTEGER NOT NULL,
      PRIMARY KEY (code, reporter)
    );
    `,
  ],
};
