/**
 * The warehouse on disk, in a file of its own: counting clicks never takes the write lock that creating links
 * needs. A scope's name is written once; its minutes, quarter hours and days are narrow rows beside one another.
 * Each click is counted in all three, so that a long range is read from few rows, and minutes can simply be dropped.
 * Tables that grow large are not STRICT, so that adding a column to them stays instant.
 */
import type { MigrationSet } from '../../../engines/sqlite/migrations.ts';

export const warehouseMigrations: MigrationSet = {
  component: 'warehouse',
  steps: [
    `
    CREATE TABLE scopes (
      id INTEGER PRIMARY KEY,
      name TEXT NOT NULL UNIQUE,
      clicks INTEGER NOT NULL,
      bots INTEGER NOT NULL,
      last_at INTEGER NOT NULL
    );
    CREATE TABLE minutes (
      scope INTEGER NOT NULL,
      start INTEGER NOT NULL,
      clicks INTEGER NOT NULL,
      bots INTEGER NOT NULL,
      visitors BLOB NOT NULL,
      PRIMARY KEY (scope, start)
    ) WITHOUT ROWID;
    CREATE INDEX minutes_by_start ON minutes (start);
    CREATE TABLE quarters (
      scope INTEGER NOT NULL,
      start INTEGER NOT NULL,
      clicks INTEGER NOT NULL,
      bots INTEGER NOT NULL,
      visitors BLOB NOT NULL,
      PRIMARY KEY (scope, start)
    ) WITHOUT ROWID;
    CREATE TABLE days (
      scope INTEGER NOT NULL,
      start INTEGER NOT NULL,
      clicks INTEGER NOT NULL,
      bots INTEGER NOT NULL,
      visitors BLOB NOT NULL,
      dimensions TEXT NOT NULL,
      PRIMARY KEY (scope, start)
    ) WITHOUT ROWID;
    CREATE TABLE positions (partition TEXT PRIMARY KEY, position INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE producers (producer TEXT PRIMARY KEY, sequence INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    CREATE TABLE ledger (
      hour INTEGER NOT NULL,
      producer TEXT NOT NULL,
      counted INTEGER NOT NULL,
      skipped INTEGER NOT NULL,
      duplicates INTEGER NOT NULL,
      PRIMARY KEY (hour, producer)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE forgotten (code TEXT PRIMARY KEY, at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
    `,
    ['scopes', 'minutes', 'quarters', 'days']
      .map(table => `ALTER TABLE ${table} ADD COLUMN suspicious INTEGER NOT NULL DEFAULT 0;`)
      .join('\n'),
    // What was deleted before this was not noted by the hour, so where there were deletions only later hours can be compared.
    `
    CREATE TABLE forgotten_hours (hour INTEGER PRIMARY KEY, clicks INTEGER NOT NULL) STRICT;
    CREATE TABLE comparable_hours (only INTEGER PRIMARY KEY CHECK (only = 1), since INTEGER NOT NULL) STRICT;
    INSERT INTO comparable_hours (only, since)
    SELECT 1, (unixepoch() / 3600 + 1) * 3600000 WHERE EXISTS (SELECT 1 FROM forgotten);
    `,
    // Whose link a scope is. Of what was counted before it is filled in later, an owner at a time (warehouse.ts).
    `
    ALTER TABLE scopes ADD COLUMN owner TEXT;
    CREATE INDEX scopes_by_clicks ON scopes (owner, clicks, name) WHERE owner IS NOT NULL;
    CREATE TABLE owners_to_fill (scope INTEGER PRIMARY KEY) STRICT;
    INSERT INTO owners_to_fill SELECT id FROM scopes WHERE name >= 'owner:' AND name < 'owner;';
    `,
  ],
};
