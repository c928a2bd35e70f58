/**
 * Where accounts, their keys and their sessions live. One port, because some changes touch more than one of them at
 * once: a new password ends sessions, the first account comes with its first key. `store.conformance.ts` is the
 * meaning of this file. Every change takes a note, which is in the audit log if and only if the change was made.
 */
import type { Account, ApiKey, Role } from './account.ts';
import type { ChangeNote } from './change-note.ts';
import type { KeyStore } from './key-store.ts';
import type { PlanName } from './plans.ts';
import type { SessionStore } from './session-store.ts';

export interface AccountStore extends KeyStore, SessionStore {
  /**
   * Creates the first admin with its first key, in one step: of many processes starting at once exactly one does,
   * the others get the existing account, which is the oldest admin that is not suspended. An account that nobody
   * can open, having neither a key nor a password, gets this key too, and so does one whose only key is the unseen
   * and unused `abandonedKeyId`, which is removed.
   */
  setUp(candidate: Account, key: ApiKey, note: ChangeNote, abandonedKeyId?: string): Promise<SetUp>;
  /** False when the e-mail address belongs to another account. */
  insertAccount(account: Account, note: ChangeNote): Promise<boolean>;
  findAccount(id: string): Promise<Account | undefined>;
  findAccountByEmail(email: string): Promise<Account | undefined>;
  /** In the order of their creation. */
  listAccounts(query: AccountQuery): Promise<AccountPage>;
  /** Changes what is named and keeps the rest. Never leaves the installation without an admin who may act. */
  changeAccount(accountId: string, change: AccountChange, note: ChangeNote): Promise<AccountChanged>;
  /** The account's earlier invitation, if any, is worth nothing from then on. False when there is no account. */
  invite(invitation: Invitation, note: ChangeNote): Promise<boolean>;
  findInvitation(
    tokenHash: string,
  ): Promise<{ readonly account: Account; readonly invitation: Invitation } | undefined>;
  /** Uses up the invitation, sets the password and ends the account's sessions; undefined when there is none. */
  acceptInvitation(tokenHash: string, passwordHash: string, note: ChangeNote): Promise<Account | undefined>;
}

export interface SetUp {
  readonly account: Account;
  /** Whether the account was given the key. */
  readonly keyed: boolean;
  /** The account's only key when nobody is known to have seen or used it. */
  readonly unseenKeyId: string | undefined;
}

export interface AccountQuery {
  readonly limit: number;
  readonly cursor: string | undefined;
}

export interface AccountPage {
  readonly accounts: readonly Account[];
  readonly nextCursor: string | undefined;
}

export interface AccountChange {
  readonly name?: string | undefined;
  readonly email?: string | null | undefined;
  readonly plan?: PlanName | undefined;
  readonly role?: Role | undefined;
  readonly suspendedAt?: number | null | undefined;
  readonly passwordHash?: string | undefined;
  /** The account's sessions end with the change: all of them, or all but one. */
  readonly endSessions?: 'all' | { readonly except: string | null } | undefined;
}

export type AccountChanged =
  | { readonly kind: 'changed'; readonly account: Account }
  | { readonly kind: 'missing' | 'email_taken' | 'last_admin' };

/** Lets whoever holds the token set the password of an account, once. */
export interface Invitation {
  readonly accountId: string;
  /** SHA-256 of the token in hex. */
  readonly tokenHash: string;
  readonly expiresAt: number;
}

/** Whether the account may act as an admin now. */
export const isActiveAdmin = ({ role, suspendedAt }: Account): boolean =>
  role === 'admin' && suspendedAt === null;

export function changed(account: Account, change: AccountChange): Account {
  return {
    ...account,
    name: change.name ?? account.name,
    email: change.email === undefined ? account.email : change.email,
    plan: change.plan ?? account.plan,
    role: change.role ?? account.role,
    suspendedAt: change.suspendedAt === undefined ? account.suspendedAt : change.suspendedAt,
    passwordHash: change.passwordHash ?? account.passwordHash,
  };
}
