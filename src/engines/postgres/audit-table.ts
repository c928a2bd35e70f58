/**
 * The audit trail as a table of Postgres. Any component appends to it inside the transaction that makes the change, so
 * that neither is kept without the other. The database itself refuses to change or empty it, whatever the client and whatever
 * the statement would have matched, and to remove an entry that is not both routine and old, also in a session that has
 * switched ordinary triggers off.
 */
import { type AuditEntry, type AuditRecord, auditDaysMin } from '../../base/audit-entry.ts';
import type { MigrationSet } from './migrations.ts';
import type { PostgresTransaction } from './postgres.ts';

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
  routine: boolean;
}

const written =
  'at, actor_kind, account_id, key_id, action, subject_kind, subject_id, before, after, reason, routine';

/** To be called inside the transaction of the change; however many records, it is one statement. */
export async function appendAudit(tx: PostgresTransaction, records: readonly AuditRecord[]): Promise<void> {
  if (records.length === 0) return;
  await tx.query(
    `INSERT INTO audit (${written}) SELECT ${written}
     FROM json_populate_recordset(NULL::audit, $1::json) WITH ORDINALITY ORDER BY ordinality`,
    [JSON.stringify(records.map(rowOf))],
  );
}

const rowOf = ({
  at,
  actor,
  action,
  subject,
  before,
  after,
  reason,
  isRoutine,
}: AuditRecord): Omit<AuditRow, 'seq'> => ({
  at,
  actor_kind: actor.kind,
  account_id: actor.accountId,
  key_id: actor.keyId,
  action,
  subject_kind: subject.kind,
  subject_id: subject.id,
  before: jsonOf(before),
  after: jsonOf(after),
  reason,
  routine: isRoutine,
});

export const auditEntryOf = (row: AuditRow): AuditEntry => ({
  id: row.seq.toString(36),
  at: row.at,
  actor: { kind: row.actor_kind, accountId: row.account_id, keyId: row.key_id },
  action: row.action,
  subject: { kind: row.subject_kind, id: row.subject_id },
  before: parsed(row.before),
  after: parsed(row.after),
  reason: row.reason,
  isRoutine: row.routine,
});

const jsonOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : JSON.stringify(value);
const parsed = (text: string | null): unknown => (text === null ? null : JSON.parse(text));
