/** Accounts, keys and sessions on disk: small tables, read by primary key or by the hash of a secret. */
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
    // `is_admin` stays beside the role for the processes of an earlier version that still run.
    `
    ALTER TABLE accounts ADD COLUMN role TEXT NOT NULL DEFAULT 'member';
    ALTER TABLE accounts ADD COLUMN plan TEXT NOT NULL DEFAULT 'free';
    ALTER TABLE accounts ADD COLUMN email TEXT;
    ALTER TABLE accounts ADD COLUMN password_hash TEXT;
    ALTER TABLE accounts ADD COLUMN suspended_at INTEGER;
    UPDATE accounts SET role = 'admin', plan = 'unlimited' WHERE is_admin = 1;
    CREATE UNIQUE INDEX accounts_by_email ON accounts (email) WHERE email IS NOT NULL;
    CREATE INDEX accounts_by_time ON accounts (created_at, id);
    ALTER TABLE api_keys ADD COLUMN scopes TEXT NOT NULL DEFAULT 'links:read links:write stats:read moderate admin';
    ALTER TABLE api_keys ADD COLUMN previous_hash TEXT;
    ALTER TABLE api_keys ADD COLUMN previous_until INTEGER;
    ALTER TABLE api_keys ADD COLUMN expires_at INTEGER;
    CREATE UNIQUE INDEX api_keys_by_previous ON api_keys (previous_hash) WHERE previous_hash IS NOT NULL;
    `,
    `
    CREATE TABLE sessions (
      id TEXT PRIMARY KEY,
      account_id TEXT NOT NULL REFERENCES accounts (id),
      token_hash TEXT NOT NULL UNIQUE,
      key_id TEXT,
      user_agent TEXT NOT NULL,
      created_at INTEGER NOT NULL,
      last_seen_at INTEGER NOT NULL,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX sessions_by_account ON sessions (account_id, last_seen_at);
    CREATE TABLE invitations (
      account_id TEXT PRIMARY KEY REFERENCES accounts (id),
      token_hash TEXT NOT NULL UNIQUE,
      expires_at INTEGER NOT NULL
    ) STRICT, WITHOUT ROWID;
    `,
  ],
};
