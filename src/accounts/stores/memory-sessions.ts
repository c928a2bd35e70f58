/** The sessions of the memory store. */
import type { Account } from '../account.ts';
import { type KeepRecord, sessionRecord } from '../change-note.ts';
import type { KeyStore } from '../key-store.ts';
import { type Session, type SessionStore, sessionsPerAccountMax } from '../session-store.ts';

export interface MemorySessions extends SessionStore {
  endSessionsOf(accountId: string, exceptId: string | null): void;
  endSessionsOpenedBy(keyId: string, exceptId: string | null): void;
}

export function createMemorySessions(
  keep: KeepRecord,
  findAccount: (id: string) => Account | undefined,
  findKey: KeyStore['findKey'],
): MemorySessions {
  const sessions = new Map<string, Session>();
  const sessionsOf = (accountId: string): Session[] =>
    [...sessions.values()].filter(session => session.accountId === accountId);

  return {
    endSessionsOf(accountId, exceptId) {
      for (const { id } of sessionsOf(accountId)) if (id !== exceptId) sessions.delete(id);
    },
    endSessionsOpenedBy(keyId, exceptId) {
      for (const { id, ...session } of [...sessions.values()]) {
        if (session.keyId === keyId && id !== exceptId) sessions.delete(id);
      }
    },
    async insertSession(session, note) {
      const earlier = sessionsOf(session.accountId).sort((one, other) => other.lastSeenAt - one.lastSeenAt);
      for (const { id, expiresAt } of earlier) if (expiresAt <= note.at) sessions.delete(id);
      const live = earlier.filter(({ id }) => sessions.has(id));
      for (const { id } of live.slice(sessionsPerAccountMax - 1)) sessions.delete(id);
      sessions.set(session.id, session);
      keep(sessionRecord(note, session));
    },
    async findSession(tokenHash) {
      const session = [...sessions.values()].find(each => each.tokenHash === tokenHash);
      const account = session && findAccount(session.accountId);
      if (session === undefined || account === undefined) return undefined;
      return { session, account, key: session.keyId === null ? undefined : await findKey(session.keyId) };
    },
    listSessions: async accountId =>
      sessionsOf(accountId).sort((one, other) => other.createdAt - one.createdAt),
    async endSession(accountId, sessionId, note) {
      if (sessions.get(sessionId)?.accountId !== accountId) return false;
      sessions.delete(sessionId);
      keep(sessionRecord(note, { id: sessionId, accountId }));
      return true;
    },
    async touchSession(sessionId, at) {
      const session = sessions.get(sessionId);
      if (session === undefined) return;
      sessions.set(sessionId, { ...session, lastSeenAt: Math.max(session.lastSeenAt, at) });
    },
  };
}
