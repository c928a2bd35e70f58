/** The sessions of the account store. One that its account or key has ended is skipped until it expires. */
import { invariant } from '../base/errors.ts';
import { check, put, remove, type Stored } from '../records/record-store.ts';
import type { Account, ApiKey } from './account.ts';
import {
  accountKind,
  isCurrent,
  type KeyRecord,
  keyKind,
  type ListRecord,
  putList,
  readSessions,
  type SessionRecord,
  sessionKind,
  sessionListKind,
} from './account-records.ts';
import { type ChangeNote, sessionRecord } from './change-note.ts';
import { opens } from './key-store.ts';
import type { AccountStoreParts } from './store.ts';

/** A signed-in browser. */
export interface Session {
  readonly id: string;
  readonly accountId: string;
  /** SHA-256 of the token in hex; the token itself is in the browser's cookie and nowhere else. */
  readonly tokenHash: string;
  /** The key that opened it; it ends with the key. Null when it was opened with a password. */
  readonly keyId: string | null;
  /** The browser's user agent, truncated, so that people can tell their sessions apart. */
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
  /**
   * Past `sessionsPerAccountMax` the least recently seen session ends. `verifiedHash` is that of the password or of the
   * key that was verified for it; false when the account or the key has another by now.
   */
  insertSession(session: Session, verifiedHash: string | null, note: ChangeNote): Promise<boolean>;
  findSession(tokenHash: string): Promise<FoundSession | undefined>;
  /** Newest first. */
  listSessions(accountId: string): Promise<Session[]>;
  /** False when the account has no such session. */
  endSession(accountId: string, sessionId: string, note: ChangeNote): Promise<boolean>;
  touchSession(tokenHash: string, at: number): Promise<void>;
}

export const sessionsPerAccountMax = 50;

/** How many sessions one insert deletes at most; the next insert deletes more. */
const deletedMax = 10;

export function createSessionStore({ records, audit, changes }: AccountStoreParts): SessionStore {
  const keyOf = async ({ session }: SessionRecord): Promise<KeyRecord | undefined> =>
    session.keyId === null ? undefined : (await records.get(keyKind, session.keyId))?.value;
  const keysOf = async (sessions: readonly Stored<SessionRecord>[]) => {
    const ids = new Set(sessions.flatMap(({ value }) => value.session.keyId ?? []));
    const found = await records.getMany(keyKind, [...ids]);
    return new Map<string | null, KeyRecord>(found.flatMap(each => (each ? [[each.key, each.value]] : [])));
  };

  /** The account, and its sessions that have not ended and those that have. */
  const readAll = async (accountId: string) => {
    const [account, { list, sessions }] = await Promise.all([
      records.get(accountKind, accountId),
      readSessions(records, accountId),
    ]);
    const keys = await keysOf(sessions);
    const current: Stored<SessionRecord>[] = [];
    const ended: Stored<SessionRecord>[] = [];
    for (const each of sessions) {
      const key = keys.get(each.value.session.keyId);
      const isThere = account !== undefined && isCurrent(each.value, account.value, key);
      (isThere ? current : ended).push(each);
    }
    return { account, list, current, ended };
  };

  return {
    insertSession: (session, verifiedHash, note) =>
      changes.run(`account ${session.accountId}`, async () => {
        const { account, list, current, ended } = await readAll(session.accountId);
        invariant(account !== undefined, 'a session belongs to an account');
        const key = session.keyId === null ? undefined : await records.get(keyKind, session.keyId);
        const isVerified =
          session.keyId === null
            ? account.value.account.passwordHash === verifiedHash
            : key !== undefined && verifiedHash !== null && opens(key.value.key, verifiedHash, note.at);
        if (!isVerified) return { answer: false };
        const isOver = ({ value }: Stored<SessionRecord>): boolean => value.session.expiresAt <= note.at;
        const bySeen = current
          .filter(each => !isOver(each))
          .toSorted(({ value: one }, { value: other }) => other.session.lastSeenAt - one.session.lastSeenAt);
        const deleted = [
          ...bySeen.slice(sessionsPerAccountMax - 1),
          ...current.filter(isOver),
          ...ended,
        ].slice(0, deletedMax);
        const accountEpoch = account.value.sessionEpoch;
        const keyEpoch = key?.value.sessionEpoch ?? null;
        return {
          answer: true,
          writes: [
            // The account must still be as it was read; a key that changes meanwhile ends the session by its epoch.
            check(accountKind, account.key, account),
            putList(sessionListKind, session.accountId, list, {
              added: [session.tokenHash],
              removed: [...deleted.map(each => each.key), ...expiredIn(list, [...current, ...ended])],
            }),
            put(sessionKind, { session, accountEpoch, keyEpoch }),
            ...deleted.map(each => remove(sessionKind, each)),
            ...audit.writesOf([sessionRecord(note, session)]),
          ],
        };
      }),

    async findSession(tokenHash) {
      const found = await records.get(sessionKind, tokenHash);
      if (found === undefined) return undefined;
      const { session } = found.value;
      const [account, key] = await Promise.all([
        records.get(accountKind, session.accountId),
        keyOf(found.value),
      ]);
      if (account === undefined || !isCurrent(found.value, account.value, key)) return undefined;
      return { session, account: account.value.account, key: key?.key };
    },

    async listSessions(accountId) {
      const { current } = await readAll(accountId);
      return current
        .map(({ value }) => value.session)
        .toSorted((one, other) => other.createdAt - one.createdAt || (one.id < other.id ? -1 : 1));
    },

    endSession: (accountId, sessionId, note) =>
      changes.run(`account ${accountId}`, async () => {
        const { list, current } = await readAll(accountId);
        const found = current.find(({ value }) => value.session.id === sessionId);
        if (found === undefined) return { answer: false };
        const entry = sessionRecord(note, { id: sessionId, accountId });
        return {
          answer: true,
          writes: [
            remove(sessionKind, found),
            putList(sessionListKind, accountId, list, { removed: [found.key] }),
            ...audit.writesOf([entry]),
          ],
        };
      }),

    touchSession: (tokenHash, at) =>
      changes.run(`session ${tokenHash}`, async () => {
        const found = await records.get(sessionKind, tokenHash);
        if (found === undefined || found.value.session.lastSeenAt >= at) return { answer: undefined };
        const session = { ...found.value.session, lastSeenAt: at };
        return { answer: undefined, writes: [put(sessionKind, { ...found.value, session }, found)] };
      }),
  };
}

/** Listed sessions whose records have expired. */
function expiredIn(list: Stored<ListRecord> | undefined, found: readonly Stored<SessionRecord>[]): string[] {
  return (list?.value.keys ?? []).filter(key => !found.some(each => each.key === key));
}
