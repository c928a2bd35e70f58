/**
 * The tables of accounts, the audit trail, reviews, reports and blocklist entries before they became records, as history:
 * an installation that has them is imported by former-tables.ts, and stays as it was otherwise.
 */
import { auditDaysMin } from '../audit/audit-entry.ts';
import type { MigrationSet } from '../engines/sqlite/migrations.ts';
import { fencedTables, fenceMessage } from './former-fence.ts';

export const auditMigrations: MigrationSet = {
  component: 'audit',
  steps: [
    `
    CREATE TABLE audit (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      at INTEGER NOT NULL,
      actor_kind TEXT NOT NULL,
      account_id TEXT,
      key_id TEXT,
      action TEXT NOT NULL,
      subject_kind TEXT NOT NULL,
      subject_id TEXT NOT NULL,
      before TEXT,
      after TEXT,
      reason TEXT
    ) STRICT;
    CREATE INDEX audit_by_subject ON audit (subject_kind, subject_id);
    CREATE INDEX audit_by_account ON audit (account_id) WHERE account_id IS NOT NULL;
    CREATE INDEX audit_by_time ON audit (at);
    CREATE TRIGGER audit_is_never_changed BEFORE UPDATE ON audit
      BEGIN SELECT RAISE(ABORT, 'audit entries are never changed'); END;
    CREATE TRIGGER audit_is_never_removed BEFORE DELETE ON audit
      BEGIN SELECT RAISE(ABORT, 'audit entries are never removed'); END;
    -- Replacing a row removes the one before it, of which the trigger above does not hear.
    CREATE TRIGGER audit_is_never_replaced BEFORE INSERT ON audit
      WHEN EXISTS (SELECT 1 FROM audit WHERE seq = NEW.seq)
      BEGIN SELECT RAISE(ABORT, 'audit entries are never replaced'); END;
    `,
    `
    ALTER TABLE audit ADD COLUMN routine INTEGER NOT NULL DEFAULT 0;
    DROP TRIGGER audit_is_never_removed;
    CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
      WHEN OLD.routine = 0 OR OLD.at > unixepoch() * 1000 - ${auditDaysMin * 24 * 60 * 60 * 1_000}
      BEGIN SELECT RAISE(ABORT, 'audit entries are never removed unless they are routine and old'); END;
    `,
  ],
};

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

export const blocklistMigrations: MigrationSet = {
  component: 'blocklist',
  steps: [
    `
    CREATE TABLE block_entries (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL UNIQUE,
      entry TEXT NOT NULL,
      reason TEXT,
      added_at INTEGER NOT NULL,
      added_by TEXT
    ) STRICT;
    CREATE TABLE block_revision (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision INTEGER NOT NULL) STRICT;
    INSERT INTO block_revision (only_row, revision) VALUES (1, 0);
    `,
  ],
};

/**
 * Before the import: what a process of the earlier version changed from now on would be lost, so that it fails. When a key
 * or session was last used may be lost: one failure fails all writes of that process that share its transaction.
 */
export const fenceMigrations: MigrationSet = {
  component: 'earlier versions',
  steps: [
    fencedTables
      .map(
        ({ table, columns }) => `
    CREATE TRIGGER ${table}_are_not_added BEFORE INSERT ON ${table}
      BEGIN SELECT RAISE(ABORT, '${fenceMessage}'); END;
    CREATE TRIGGER ${table}_are_not_changed BEFORE UPDATE${columns} ON ${table}
      BEGIN SELECT RAISE(ABORT, '${fenceMessage}'); END;
    CREATE TRIGGER ${table}_are_not_removed BEFORE DELETE ON ${table}
      BEGIN SELECT RAISE(ABORT, '${fenceMessage}'); END;`,
      )
      .join('\n'),
  ],
};
