/**
 * Accounts, keys and sessions as items. What belongs to one account lies in its partition: the account, its keys in the
 * order of creation, a head that counts them, its sessions in one item, its invitation. Whatever else it is found by has
 * a partition of its own, with a pointer: the hash of a secret, an id, an e-mail address.
 *
 * Every read is strongly consistent, and what a pointer leads to is compared with what was asked for: so a key that was
 * revoked, or a session that was ended, is refused by the next request everywhere.
 */
import type { Condition, Key, PutItem } from '../../../engines/dynamodb/expressions.ts';
import { partitionOf, sortableText } from '../../../engines/dynamodb/key-text.ts';
import { nextVersion, unchanged } from '../../../engines/dynamodb/steps.ts';
import type { Account, ApiKey } from '../../account.ts';
import type { Session } from '../../session-store.ts';
import type { Invitation } from '../../store.ts';

interface Versioned extends Key {
  readonly version: number;
}

/** A record is one attribute, so that none of its fields is ever taken for a key of an index. */
export interface AccountItem extends Versioned {
  readonly record: Account;
}

export interface KeyItem extends Versioned {
  readonly record: ApiKey;
}

/** Guards how many keys an account has: whatever adds, revokes or forgets one writes it too. */
export interface KeysItem extends Versioned {
  readonly total: number;
  /** The keys that are not revoked, and when they expire; those that have expired leave with the next write. */
  readonly live: Readonly<Record<string, number | null>>;
}

export interface SessionsItem extends Versioned {
  /** As text: they are few, and always read and written together. */
  readonly sessions: string;
}

export interface InvitationItem extends Key {
  readonly record: Invitation;
}

/** From an e-mail address, a session or an invitation to its account. */
export interface AccountPointer extends Key {
  readonly accountId: string;
}

/** From an id or a hash to a key. */
export interface KeyPointer extends AccountPointer {
  readonly keyId: string;
  readonly createdAt: number;
}

/** From the hash of a token to its session, and on to the key that opened it. */
export interface TokenPointer extends AccountPointer {
  readonly keyId: string | null;
  readonly keyCreatedAt: number | null;
}

export const accountKey = (id: string): Key => ({ pk: partitionOf('account', id), sk: 'account' });
export const keysKey = (accountId: string): Key => ({ ...accountKey(accountId), sk: 'keys' });
export const sessionsKey = (accountId: string): Key => ({ ...accountKey(accountId), sk: 'sessions' });
export const invitationKey = (accountId: string): Key => ({ ...accountKey(accountId), sk: 'invitation' });

export const keyPrefix = 'key#';
/** Where a key lies follows from its record, or from a pointer to it. */
export const keyKey = ({ accountId, createdAt, keyId }: Omit<KeyPointer, keyof Key>): Key => ({
  ...accountKey(accountId),
  sk: `${keyPrefix}${placeText(createdAt, keyId)}`,
});

/** Text that sorts by time. */
export const placeText = (createdAt: number, id: string): string => `${sortableText(createdAt)}#${id}`;

type PointerKind = 'email' | 'key' | 'key-hash' | 'session' | 'session-token' | 'invitation';

export const pointerKey = (kind: PointerKind, to: string): Key => ({
  pk: partitionOf(kind, to),
  sk: 'pointer',
});

/** When the engine may drop a pointer to something that has ended by itself. */
export const ttlOf = (endsAt: number): number => Math.ceil(endsAt / 1_000);

export function putAccount(account: Account, before: AccountItem | undefined): PutItem {
  return {
    put: { ...accountKey(account.id), version: nextVersion(before), record: { ...account } },
    condition: unchanged(before),
  };
}

export function putKey(key: ApiKey, before: KeyItem | undefined): PutItem {
  return {
    put: { ...keyKey({ ...key, keyId: key.id }), version: nextVersion(before), record: { ...key } },
    condition: unchanged(before),
  };
}

export function putKeyPointer(
  kind: 'key' | 'key-hash',
  to: string,
  { id: keyId, accountId, createdAt }: ApiKey,
  condition: Condition | undefined,
): PutItem {
  const put = { ...pointerKey(kind, to), accountId, keyId, createdAt };
  return condition === undefined ? { put } : { put, condition };
}

export function putSessions(
  accountId: string,
  sessions: readonly Session[],
  before: SessionsItem | undefined,
): PutItem {
  return {
    put: { ...sessionsKey(accountId), version: nextVersion(before), sessions: JSON.stringify(sessions) },
    condition: unchanged(before),
  };
}

export const sessionsOf = (item: SessionsItem | undefined): readonly Session[] =>
  item === undefined ? [] : (JSON.parse(item.sessions) as Session[]);
