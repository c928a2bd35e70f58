/**
 * What processes of an earlier version may no longer change, because it is imported into records and not read again:
 * what they changed would be lost, so that it fails. When a key or session was last used may be lost, since one failure
 * fails all writes of that process that share its transaction. Tables that an installation does not have need no fence.
 */
import type { MigrationSet as PostgresMigrations } from '../engines/postgres/migrations.ts';
import type { MigrationSet as SqliteMigrations } from '../engines/sqlite/migrations.ts';

const message = 'a newer version of Terse has taken over this table';
const component = 'earlier versions';

/** The component whose migrations made a table: a table of that name without it is somebody else's. */
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

/** Of an update of those that others may change, the columns. */
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

/** The state is one that processes of the earlier version answer with 503. */
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
