/** Accounts, keys and sessions in Postgres: small tables, read by primary key or by the hash of a secret. */
import type { MigrationSet } from '../../../engines/postgres/migrations.ts';

export const accountMigrations: MigrationSet = {
  component: 'accounts',
  steps: [
    `
    CREATE TABLE accounts (
      id TEXT COLLATE "C" PRIMARY KEY,
      name TEXT NOT NULL,
      role TEXT NOT NULL,
      plan TEXT NOT NULL,
      email TEXT COLLATE "C",
      password_hash TEXT,
      created_at BIGINT NOT NULL,
      suspended_at BIGINT
    );
    CREATE UNIQUE INDEX accounts_by_email ON accounts (email) WHERE email IS NOT NULL;
    CREATE INDEX accounts_by_time ON accounts (created_at, id);
    CREATE INDEX accounts_by_admin ON accounts (created_at, id) WHERE role = 'admin' AND suspended_at IS NULL;
    -- Held by whoever changes who is an admin, so that this happens one after the other.
    CREATE TABLE admin_turn (only_row INTEGER PRIMARY KEY CHECK (only_row = 1));
    INSERT INTO admin_turn (only_row) VALUES (1);

    CREATE TABLE api_keys (
      id TEXT COLLATE "C" PRIMARY KEY,
      account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
      name TEXT NOT NULL,
      origin TEXT NOT NULL,
      scopes TEXT NOT NULL,
      key_hash TEXT COLLATE "C" NOT NULL,
      previous_hash TEXT COLLATE "C",
      previous_until BIGINT,
      created_at BIGINT NOT NULL,
      last_used_at BIGINT,
      expires_at BIGINT,
      revoked_at BIGINT
    );
    CREATE UNIQUE INDEX api_keys_by_hash ON api_keys (key_hash);
    CREATE UNIQUE INDEX api_keys_by_previous ON api_keys (previous_hash) WHERE previous_hash IS NOT NULL;
    CREATE INDEX api_keys_by_account ON api_keys (account_id, created_at, id);

    CREATE TABLE sessions (
      id TEXT COLLATE "C" PRIMARY KEY,
      account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id),
      token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
      key_id TEXT COLLATE "C",
      user_agent TEXT NOT NULL,
      created_at BIGINT NOT NULL,
      last_seen_at BIGINT NOT NULL,
      expires_at BIGINT NOT NULL
    );
    CREATE INDEX sessions_by_account ON sessions (account_id, last_seen_at);

    CREATE TABLE invitations (
      account_id TEXT COLLATE "C" PRIMARY KEY REFERENCES accounts (id),
      token_hash TEXT COLLATE "C" NOT NULL UNIQUE,
      expires_at BIGINT NOT NULL
    );
    `,
  ],
};
