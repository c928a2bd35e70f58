/** The writes of sessions. */
import type { Database } from 'bun:sqlite';
import { type ChangeNote, type KeepRecord, sessionRecord } from '../../change-note.ts';
import { type Session, sessionsPerAccountMax } from '../../session-store.ts';

export function sessionWrites(database: Database, keep: KeepRecord) {
  const add = database.query(`
    INSERT INTO sessions (id, account_id, token_hash, key_id, user_agent, created_at, last_seen_at, expires_at)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  const dropExpired = database.query('DELETE FROM sessions WHERE account_id = ? AND expires_at <= ?');
  const dropOldest = database.query(`
    DELETE FROM sessions WHERE id IN (
      SELECT id FROM sessions WHERE account_id = ? ORDER BY last_seen_at DESC, id LIMIT -1 OFFSET ?)`);
  const end = database.query('DELETE FROM sessions WHERE id = ? AND account_id = ?');
  const endAll = database.query('DELETE FROM sessions WHERE account_id = ?1 AND id IS NOT ?2');
  const touch = database.query('UPDATE sessions SET last_seen_at = max(last_seen_at, ?) WHERE id = ?');

  return {
    insertSession({ session, note }: { session: Session; note: ChangeNote }): void {
      const { id, accountId, tokenHash, keyId, userAgent, createdAt, lastSeenAt, expiresAt } = session;
      dropExpired.run(accountId, note.at);
      dropOldest.run(accountId, sessionsPerAccountMax - 1);
      add.run(id, accountId, tokenHash, keyId, userAgent, createdAt, lastSeenAt, expiresAt);
      keep(sessionRecord(note, session));
    },
    endSession(request: { accountId: string; sessionId: string; note: ChangeNote }): boolean {
      const { accountId, sessionId, note } = request;
      const ended = end.run(sessionId, accountId).changes === 1;
      if (ended) keep(sessionRecord(note, { id: sessionId, accountId }));
      return ended;
    },
    /** All, or all but one. */
    endSessionsOf({ accountId, exceptId }: { accountId: string; exceptId: string | null }): void {
      endAll.run(accountId, exceptId);
    },
    touchSession({ sessionId, at }: { sessionId: string; at: number }): void {
      touch.run(at, sessionId);
    },
  };
}

export type SessionWrites = ReturnType<typeof sessionWrites>;
