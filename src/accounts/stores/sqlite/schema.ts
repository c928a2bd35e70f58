/** Accounts and keys on disk: small tables, read by primary key or by the hash of a key. */
import type { MigrationSet } from '../../../engines/sqlite/migrations.ts';

export const accountMigrations: MigrationSet = {
  component: 'accounts',
  steps: [
    `
    CREATE TABLE accounts (
      id TEXT PRIMARY KEY,
      name TEXT NOT NULL,
      is_admin INTEGER NOT NULL,
      created_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE api_keys (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      key_hash TEXT NOT NULL UNIQUE,
      created_at INTEGER NOT NULL,
      last_used_at INTEGER,
      revoked_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at);
    `,
    `ALTER TABLE api_keys ADD COLUMN origin TEXT NOT NULL DEFAULT 'issued'`,
  ],
};
