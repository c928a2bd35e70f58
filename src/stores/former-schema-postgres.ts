/**
 * The tables of accounts, the audit trail, reviews, reports and blocklist entries before they became records, as history:
 * an installation that has them is imported by former-tables.ts, and stays as it was otherwise.
 */
import { auditDaysMin } from '../audit/audit-entry.ts';
import type { MigrationSet } from '../engines/postgres/migrations.ts';
import { fencedTables, fenceMessage } from './former-fence.ts';

export const auditMigrations: MigrationSet = {
  component: 'audit',
  steps: [
    `
    CREATE TABLE audit (
      seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      at BIGINT NOT NULL,
      actor_kind TEXT NOT NULL,
      account_id TEXT COLLATE "C",
      key_id TEXT COLLATE "C",
      action TEXT COLLATE "C" NOT NULL,
      subject_kind TEXT COLLATE "C" NOT NULL,
      subject_id TEXT COLLATE "C" NOT NULL,
      before TEXT,
      after TEXT,
      reason TEXT
    );
    CREATE INDEX audit_by_subject ON audit (subject_kind, subject_id, seq);
    CREATE INDEX audit_by_account ON audit (account_id, seq) WHERE account_id IS NOT NULL;
    CREATE INDEX audit_by_time ON audit (at, seq);

    CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION 'audit entries are never changed or removed' USING ERRCODE = 'insufficient_privilege';
    END $$;
    CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
    ALTER TABLE audit ENABLE ALWAYS TRIGGER audit_is_append_only;
    `,
    `
    ALTER TABLE audit ADD COLUMN routine BOOLEAN NOT NULL DEFAULT false;
    DROP TRIGGER audit_is_append_only ON audit;
    CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR TRUNCATE ON audit
      FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();
    CREATE FUNCTION refuse_audit_removal() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.routine AND OLD.at <= extract(epoch FROM now()) * 1000 - ${auditDaysMin * 24 * 60 * 60 * 1_000}::bigint THEN
        RETURN OLD;
      END IF;
      RAISE EXCEPTION 'audit entries are never removed unless they are routine and old'
        USING ERRCODE = 'insufficient_privilege';
    END $$;
    CREATE TRIGGER audit_is_kept BEFORE DELETE ON audit
      FOR EACH ROW EXECUTE FUNCTION refuse_audit_removal();
    ALTER TABLE audit ENABLE ALWAYS TRIGGER audit_is_append_only;
    ALTER TABLE audit ENABLE ALWAYS TRIGGER audit_is_kept;
    `,
  ],
};

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
    -- Locked by each change of admins, so that these happen one after the other.
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

export const blocklistMigrations: MigrationSet = {
  component: 'blocklist',
  steps: [
    `
    CREATE TABLE block_entries (
      seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
      id TEXT COLLATE "C" NOT NULL UNIQUE,
      entry TEXT NOT NULL,
      reason TEXT,
      added_at BIGINT NOT NULL,
      added_by TEXT
    );
    CREATE TABLE block_revision (only_row INTEGER PRIMARY KEY CHECK (only_row = 1), revision BIGINT NOT NULL);
    INSERT INTO block_revision (only_row, revision) VALUES (1, 0);
    `,
  ],
};

/** Before the import, as in SQLite. The state is one that processes of the earlier version answer with 503. */
export const fenceMigrations: MigrationSet = {
  component: 'earlier versions',
  steps: [
    `
    CREATE FUNCTION refuse_former_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      RAISE EXCEPTION '${fenceMessage}' USING ERRCODE = 'object_not_in_prerequisite_state';
    END $$;
    ${fencedTables
      .map(
        ({ table, columns }) => `
    CREATE TRIGGER ${table}_are_former BEFORE INSERT OR DELETE OR UPDATE${columns} ON ${table}
      FOR EACH ROW EXECUTE FUNCTION refuse_former_change();`,
      )
      .join('')}
    `,
  ],
};
