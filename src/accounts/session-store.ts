/** The part of the account store that keeps sessions, by the hashes of their tokens. */
import type { Account, ApiKey } from './account.ts';
import type { ChangeNote } from './change-note.ts';

/** Somebody signed in with a browser. */
export interface Session {
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the token in hex; the token itself is in the browser's cookie and nowhere else. */
  readonly tokenHash: string;
  /** The key that opened it; it ends with the key. Null when it was opened with a password. */
  readonly keyId: string | null;
  /** What the browser said it is, cut short, for people to tell their sessions apart. */
  readonly userAgent: string;
  readonly createdAt: number;
  readonly lastSeenAt: number;
  /** When it ends at the latest, however busy it is. */
  readonly expiresAt: number;
}

export interface FoundSession {
  readonly session: Session;
  readonly account: Account;
  /** The key that opened the session; undefined when none did. */
  readonly key: ApiKey | undefined;
}

export interface SessionStore {
  /** Past `sessionsPerAccountMax` the session that was seen longest ago gives way. */
  insertSession(session: Session, note: ChangeNote): Promise<void>;
  findSession(tokenHash: string): Promise<FoundSession | undefined>;
  /** The newest first. */
  listSessions(accountId: string): Promise<Session[]>;
  /** False when the account has no such session. */
  endSession(accountId: string, sessionId: string, note: ChangeNote): Promise<boolean>;
  touchSession(sessionId: string, at: number): Promise<void>;
}

export const sessionsPerAccountMax = 50;
