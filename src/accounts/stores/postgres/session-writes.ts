/** The writes of sessions. */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { type ChangeNote, sessionRecord } from '../../change-note.ts';
import { type Session, sessionsPerAccountMax } from '../../session-store.ts';
import { holdAccount } from './turns.ts';

export async function insertSession(
  tx: PostgresTransaction,
  session: Session,
  note: ChangeNote,
): Promise<void> {
  const { id, accountId, tokenHash, keyId, userAgent, createdAt, lastSeenAt, expiresAt } = session;
  await holdAccount(tx, accountId);
  await tx.query('DELETE FROM sessions WHERE account_id = $1 AND expires_at <= $2', [accountId, note.at]);
  await tx.query(
    `DELETE FROM sessions WHERE id IN (
       SELECT id FROM sessions WHERE account_id = $1 ORDER BY last_seen_at DESC, id OFFSET $2)`,
    [accountId, sessionsPerAccountMax - 1],
  );
  await tx.query(
    `INSERT INTO sessions (id, account_id, token_hash, key_id, user_agent, created_at, last_seen_at, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [id, accountId, tokenHash, keyId, userAgent, createdAt, lastSeenAt, expiresAt],
  );
  await appendAudit(tx, [sessionRecord(note, session)]);
}

export async function endSession(
  tx: PostgresTransaction,
  accountId: string,
  sessionId: string,
  note: ChangeNote,
): Promise<boolean> {
  const ended = await tx.query('DELETE FROM sessions WHERE id = $1 AND account_id = $2 RETURNING id', [
    sessionId,
    accountId,
  ]);
  if (ended.length > 0) await appendAudit(tx, [sessionRecord(note, { id: sessionId, accountId })]);
  return ended.length > 0;
}

/** All, or all but one. */
export async function endSessionsOf(
  tx: PostgresTransaction,
  accountId: string,
  exceptId: string | null,
): Promise<void> {
  await tx.query('DELETE FROM sessions WHERE account_id = $1 AND id IS DISTINCT FROM $2', [
    accountId,
    exceptId,
  ]);
}
