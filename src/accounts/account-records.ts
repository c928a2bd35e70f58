/**
 * Accounts, keys, sessions and invitations as records. Each e-mail address and each hash of a secret has a record that
 * reserves it for one account or key. A session is valid while it has the current epoch of its account and of the key
 * that opened it, so one write ends all sessions.
 *
 * The admins, and the keys and sessions of an account, are also listed in one record each, which every write that adds
 * or removes one updates. Rules count in that list: unlike an index of DynamoDB, it never shows half of a transaction.
 */
import {
  put,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
  type Stored,
  sortable,
} from '../records/record-store.ts';
import type { Account, ApiKey } from './account.ts';
import type { Session } from './session-store.ts';
import type { Invitation } from './store.ts';

export interface AccountRecord {
  readonly account: Account;
  /** Raised when the sessions of the account end. */
  readonly sessionEpoch: number;
}

export const accountKind: RecordKind<AccountRecord, 'created'> = {
  name: 'account',
  key: ({ account }) => account.id,
  indexes: {
    created: ({ account }) => ({ partition: 'all', sort: sortable(account.createdAt) }),
  },
};

interface EmailRecord {
  readonly email: string;
  readonly accountId: string;
}

export const emailKind: RecordKind<EmailRecord, never> = {
  name: 'email',
  key: ({ email }) => email,
  indexes: {},
};

/** The active admins. There is always at least one, and only one of many processes creates the first. */
export interface AdminsRecord {
  readonly admins: readonly Pick<Account, 'id' | 'createdAt'>[];
}

export const adminsKind: RecordKind<AdminsRecord, never> = {
  name: 'admins',
  key: () => adminsKey,
  indexes: {},
};
export const adminsKey = 'only';

/** Oldest first. */
export const adminsOf = (found: Stored<AdminsRecord> | undefined): AdminsRecord['admins'] =>
  (found?.value.admins ?? []).toSorted(
    (one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
  );

/** The keys of the records of one account. */
export interface ListRecord {
  readonly accountId: string;
  readonly keys: readonly string[];
}

const listKind = (name: string): RecordKind<ListRecord, never> => ({
  name,
  key: ({ accountId }) => accountId,
  indexes: {},
});
export const keyListKind = listKind('account-keys');
export const sessionListKind = listKind('account-sessions');

export interface KeyRecord {
  readonly key: ApiKey;
  /** Raised when the sessions that the key opened end. */
  readonly sessionEpoch: number;
}

export const keyKind: RecordKind<KeyRecord, never> = { name: 'key', key: ({ key }) => key.id, indexes: {} };

/** The current or the previous secret of a key, by its hash. Has the account's id, so that both can be read at once. */
interface SecretRecord {
  readonly hash: string;
  readonly keyId: string;
  readonly accountId: string;
}

export const secretKind: RecordKind<SecretRecord, never> = {
  name: 'key-secret',
  key: ({ hash }) => hash,
  indexes: {},
};

export interface SessionRecord {
  readonly session: Session;
  readonly accountEpoch: number;
  /** Null when no key opened it. */
  readonly keyEpoch: number | null;
}

export const sessionKind: RecordKind<SessionRecord, never> = {
  name: 'session',
  key: ({ session }) => session.tokenHash,
  indexes: {},
  expiresAt: ({ session }) => session.expiresAt,
};

export const invitationKind: RecordKind<Invitation, 'token'> = {
  name: 'invitation',
  key: ({ accountId }) => accountId,
  indexes: { token: ({ tokenHash }) => ({ partition: tokenHash, sort: '' }) },
  expiresAt: ({ expiresAt }) => expiresAt,
};

export const accountKinds = [
  accountKind,
  emailKind,
  adminsKind,
  keyKind,
  keyListKind,
  secretKind,
  sessionKind,
  sessionListKind,
  invitationKind,
] as const;

/** A list of an account, with the records that it lists. */
async function readList<Value>(
  records: RecordStore,
  kind: RecordKind<ListRecord, never>,
  listed: RecordKind<Value, never>,
  accountId: string,
): Promise<{ readonly list: Stored<ListRecord> | undefined; readonly found: Stored<Value>[] }> {
  const list = await records.get(kind, accountId);
  const found = await records.getMany(listed, list?.value.keys ?? []);
  return { list, found: found.filter(each => each !== undefined) };
}

/** In the order of their creation. */
export async function readKeys(records: RecordStore, accountId: string) {
  const { list, found } = await readList(records, keyListKind, keyKind, accountId);
  return { list, keys: found.toSorted((one, other) => byAge(one.value.key, other.value.key)) };
}

/** Newest first, including sessions that have ended but are not deleted yet. */
export async function readSessions(records: RecordStore, accountId: string) {
  const { list, found } = await readList(records, sessionListKind, sessionKind, accountId);
  return { list, sessions: found.toSorted((one, other) => byAge(other.value.session, one.value.session)) };
}

const byAge = (
  one: { readonly createdAt: number; readonly id: string },
  other: { readonly createdAt: number; readonly id: string },
): number => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1);

/** Writes a list with some keys added and some removed. */
export function putList(
  kind: RecordKind<ListRecord, never>,
  accountId: string,
  before: Stored<ListRecord> | undefined,
  { added = [], removed = [] }: { readonly added?: readonly string[]; readonly removed?: readonly string[] },
): RecordWrite {
  const kept = (before?.value.keys ?? []).filter(key => !removed.includes(key));
  return put(kind, { accountId, keys: [...kept, ...added] }, before);
}

/** Whether no change of its account or key has ended the session. */
export const isCurrent = (
  { accountEpoch, keyEpoch }: SessionRecord,
  account: AccountRecord,
  key: KeyRecord | undefined,
): boolean =>
  accountEpoch === account.sessionEpoch &&
  (keyEpoch === null || key === undefined || keyEpoch === key.sessionEpoch);
