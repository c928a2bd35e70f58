/**
 * The audit trail as a table of the embedded database. Any component appends to it inside the transaction that makes
 * the change, so that neither is kept without the other. The database itself refuses to change an entry, or to remove
 * one that is not both routine and old, whatever the client.
 */
import type { Database } from 'bun:sqlite';
import { type AuditEntry, type AuditRecord, auditDaysMin } from '../../base/audit-entry.ts';
import type { MigrationSet } from './migrations.ts';

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

export interface AuditRow {
  seq: number;
  at: number;
  actor_kind: AuditRecord['actor']['kind'];
  account_id: string | null;
  key_id: string | null;
  action: string;
  subject_kind: AuditRecord['subject']['kind'];
  subject_id: string;
  before: string | null;
  after: string | null;
  reason: string | null;
  routine: number;
}

/** For writer threads: to be called inside the transaction of the change. */
export function prepareAuditAppend(database: Database): (record: AuditRecord) => void {
  const append = database.query(`
    INSERT INTO audit (at, actor_kind, account_id, key_id, action, subject_kind, subject_id, before, after,
      reason, routine)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`);
  return ({ at, actor, action, subject, before, after, reason, isRoutine }) => {
    append.run(
      at,
      actor.kind,
      actor.accountId,
      actor.keyId,
      action,
      subject.kind,
      subject.id,
      jsonOf(before),
      jsonOf(after),
      reason,
      isRoutine ? 1 : 0,
    );
  };
}

export const auditEntryOf = (row: AuditRow): AuditEntry => ({
  id: row.seq.toString(36),
  at: row.at,
  actor: { kind: row.actor_kind, accountId: row.account_id, keyId: row.key_id },
  action: row.action,
  subject: { kind: row.subject_kind, id: row.subject_id },
  before: parsed(row.before),
  after: parsed(row.after),
  reason: row.reason,
  isRoutine: row.routine === 1,
});

const jsonOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
