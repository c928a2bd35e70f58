/**
 * Rejects changes that processes of an earlier version make to tables that were imported into records: these tables are
 * not read again, so the changes would be lost. Only the times at which a key or session was last used are accepted,
 * and lost: a rejection would fail all other writes in the same transaction. Tables that an installation does not have
 * need no fence.
 */
import type { MigrationSet as PostgresMigrations } from '../engines/postgres/migrations.ts';
import type { MigrationSet as SqliteMigrations } from '../engines/sqlite/migrations.ts';

const message = 'a newer version of Terse has taken over this table';
const component = 'earlier versions';

/** The component whose migrations created a table: without it, a table of that name is not ours. */
export const formerComponents: Readonly<Record<string, string>> = {
  audit: 'audit',
  accounts: 'accounts',
  api_keys: 'accounts',
  sessions: 'accounts',
  invitations: 'accounts',
  reviews: 'moderation',
  reports: 'moderation',
  block_entries: 'blocklist',
};

/** For tables with columns that may still be updated: the columns that may not. */
const tables: Readonly<Record<string, string>> = {
  accounts: '',
  api_keys:
    ' OF account_id, name, scopes, key_hash, previous_hash, previous_until, created_at, expires_at, revoked_at',
  sessions: ' OF account_id, token_hash, key_id, expires_at',
  invitations: '',
  reviews: '',
  reports: '',
  block_entries: '',
};

export const sqliteFence: SqliteMigrations = {
  component,
  steps: [
    present =>
      Object.entries(tables)
        .filter(([table]) => present.has(table))
        .flatMap(([table, columns]) =>
          ['INSERT', `UPDATE${columns}`, 'DELETE'].map(
            change => `CREATE TRIGGER ${table}_refuse_${change.slice(0, 6)} BEFORE ${change} ON ${table}
              BEGIN SELECT RAISE(ABORT, '${message}'); END;`,
          ),
        ),
  ],
};

/** Processes of the earlier version answer this SQLSTATE with 503. */
export const postgresFence: PostgresMigrations = {
  component,
  steps: [
    `
    CREATE FUNCTION refuse_former_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '${message}' USING ERRCODE = 'object_not_in_prerequisite_state';
    END $$;
    DO $do$
    BEGIN
      ${Object.entries(tables)
        .map(
          ([table, columns]) => `
      IF to_regclass('${table}') IS NOT NULL
        AND EXISTS (SELECT FROM migrations WHERE component = '${formerComponents[table]}') THEN
        CREATE TRIGGER ${table}_are_former BEFORE INSERT OR DELETE OR UPDATE${columns} ON ${table}
          FOR EACH ROW EXECUTE FUNCTION refuse_former_change();
      END IF;`,
        )
        .join('')}
    END $do$;
    `,
  ],
};
