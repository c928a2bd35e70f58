/**
 * The warehouse on disk, in a file of its own: counting clicks never takes the write lock that creating links
 * needs. What was counted before runs existed is in `scopes`, `minutes`, `quarters` and `days`, and only read (legacy.ts).
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
    // Clicks in sorted runs (runs.ts). The tables above keep what was counted before, until the log is recounted.
    `
    CREATE TABLE runs (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      day INTEGER NOT NULL,
      level INTEGER NOT NULL,
      state TEXT NOT NULL,
      singles INTEGER NOT NULL,
      totalled INTEGER NOT NULL,
      clicks INTEGER NOT NULL,
      hours TEXT NOT NULL,
      claimed_until INTEGER NOT NULL,
      builder TEXT NOT NULL
    );
    CREATE INDEX runs_by_day ON runs (state, day);
    CREATE TABLE chunks (
      id INTEGER PRIMARY KEY AUTOINCREMENT,
      run INTEGER NOT NULL,
      owner TEXT NOT NULL,
      hash INTEGER NOT NULL,
      rows INTEGER NOT NULL,
      first_at INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      links BLOB NOT NULL,
      counts BLOB NOT NULL,
      lists BLOB NOT NULL,
      at BLOB NOT NULL,
      kind BLOB NOT NULL,
      token BLOB NOT NULL,
      agent BLOB NOT NULL,
      referrer BLOB NOT NULL,
      place BLOB NOT NULL,
      visit BLOB NOT NULL,
      tags BLOB NOT NULL
    );
    CREATE INDEX chunks_by_link ON chunks (run, owner, hash);
    CREATE TABLE summaries (
      id INTEGER PRIMARY KEY,
      run INTEGER NOT NULL,
      scope TEXT NOT NULL,
      minutes BLOB NOT NULL,
      whole BLOB NOT NULL,
      visitors BLOB NOT NULL,
      slots BLOB NOT NULL,
      slot_visitors BLOB NOT NULL
    );
    CREATE UNIQUE INDEX summaries_by_scope ON summaries (run, scope);
    CREATE TABLE totals (
      id INTEGER PRIMARY KEY,
      run INTEGER NOT NULL,
      owner TEXT NOT NULL,
      hash INTEGER NOT NULL,
      entries BLOB NOT NULL
    );
    CREATE INDEX totals_by_link ON totals (run, owner, hash);
    CREATE TABLE legacy (until INTEGER NOT NULL, upgraded_at INTEGER NOT NULL);
    INSERT INTO legacy (upgraded_at, until)
    SELECT unixepoch() * 1000, (min(coalesce(max(hour), 0), unixepoch() * 1000 + 86400000) / 86400000 + 1) * 86400000 FROM ledger
    HAVING EXISTS (SELECT 1 FROM scopes);
    DROP TABLE forgotten_hours;
    DROP TABLE comparable_hours;
    `,
    // Clicks of busy links that are alike (groups.ts). Earlier runs get theirs in the background.
    `
    ALTER TABLE runs ADD COLUMN grouped INTEGER NOT NULL DEFAULT 0;
    CREATE TABLE groups (
      id INTEGER PRIMARY KEY,
      run INTEGER NOT NULL,
      owner TEXT NOT NULL,
      hash INTEGER NOT NULL,
      code TEXT NOT NULL,
      chunk INTEGER NOT NULL,
      last_chunk INTEGER NOT NULL,
      first_at INTEGER NOT NULL,
      last_at INTEGER NOT NULL,
      lists BLOB NOT NULL,
      place BLOB NOT NULL,
      agent BLOB NOT NULL,
      kind BLOB NOT NULL,
      lengths BLOB NOT NULL,
      visit BLOB NOT NULL,
      referrer BLOB NOT NULL
    );
    CREATE UNIQUE INDEX groups_by_chunk ON groups (run, chunk);
    CREATE TABLE group_parts (
      id INTEGER PRIMARY KEY,
      run INTEGER NOT NULL,
      chunk INTEGER NOT NULL,
      part INTEGER NOT NULL,
      rows BLOB NOT NULL,
      numbers BLOB NOT NULL
    );
    CREATE UNIQUE INDEX group_parts_by_chunk ON group_parts (run, chunk, part);
    `,
    // How many parts a group has: it is used only with all of them. Two processes may have made one of those so far.
    `
    DELETE FROM groups;
    DELETE FROM group_parts;
    UPDATE runs SET grouped = 0;
    ALTER TABLE groups ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
    `,
  ],
};
