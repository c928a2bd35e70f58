/**
 * Accounts with their keys and sessions: the rules about them, above the record store. Some changes touch more than one
 * of them at once: a new password ends sessions, the first account comes with its first key. `store.conformance.ts`
 * defines the contract. Every change takes a note, which is in the audit log if and only if the change was made.
 */
import type { AuditWrites } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { invariant } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { PlanName } from '../limits/plans.ts';
import { createRecordChanges, type RecordChanges } from '../records/change-records.ts';
import {
  check,
  put,
  queryAll,
  type RecordStore,
  type RecordWrite,
  remove,
  type Stored,
} from '../records/record-store.ts';
import { type Account, type ApiKey, isActiveAdmin, type Role } from './account.ts';
import {
  type AccountRecord,
  type AdminsRecord,
  accountKind,
  adminsKey,
  adminsKind,
  adminsOf,
  emailKind,
  invitationKind,
  keyListKind,
  putList,
  readKeys,
  readSessions,
  secretKind,
  sessionKind,
} from './account-records.ts';
import { accountRecord, type ChangeNote, keyRecord } from './change-note.ts';
import type { KeyStore } from './key-store.ts';
import { createKeyStore, keyRemoval, newKeyWrites, unseenKeyOf } from './key-store.ts';
import type { SessionStore } from './session-store.ts';
import { createSessionStore } from './session-store.ts';

export interface AccountStore extends KeyStore, SessionStore {
  /**
   * Creates the first admin with its first key, atomically: of many processes starting at once exactly one does, the
   * others get the existing account, which is the oldest admin that is not suspended. An inaccessible account, which
   * has neither a key nor a password, gets this key too, and so does one whose only key is the unseen and unused
   * `abandonedKeyId`, which is removed.
   */
  setUp(candidate: Account, key: ApiKey, note: ChangeNote, abandonedKeyId?: string): Promise<SetUp>;
  /** False when the e-mail address belongs to another account. */
  insertAccount(account: Account, note: ChangeNote): Promise<boolean>;
  findAccount(id: string): Promise<Account | undefined>;
  findAccountByEmail(email: string): Promise<Account | undefined>;
  /** In the order of their creation. */
  listAccounts(query: AccountQuery): Promise<AccountPage>;
  /** Changes the given fields and keeps the rest. Never leaves the installation without an active admin. */
  changeAccount(accountId: string, change: AccountChange, note: ChangeNote): Promise<AccountChanged>;
  /** Invalidates the account's earlier invitation, if any. False when there is no account. */
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
  /** The account's only key when it is not known to have been seen or used. */
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
  /** The change is made only while this is the hash of the account's password; null for none. */
  readonly ifPasswordHash?: string | null | undefined;
  /** The account's sessions end with the change: all of them, or all but one. */
  readonly endSessions?: 'all' | { readonly except: string | null } | undefined;
}

export type AccountChanged =
  | { readonly kind: 'changed'; readonly account: Account }
  | { readonly kind: 'missing' | 'email_taken' | 'last_admin' | 'other_password' };

/** For a new person, or for one who has lost the password. */
export const invitationPurposes = ['invitation', 'passwordReset'] as const;
export type InvitationPurpose = (typeof invitationPurposes)[number];

/** Lets the holder of the token set the password of an account, once. */
export interface Invitation {
  readonly accountId: string;
  /** SHA-256 of the token in hex. */
  readonly tokenHash: string;
  readonly expiresAt: number;
  /** Absent in records of earlier versions, which only had invitations. */
  readonly purpose?: InvitationPurpose;
  /** The account of the admin who issued it; absent in records of earlier versions. */
  readonly issuedBy?: string;
}

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

export interface AccountStoreParts {
  readonly records: RecordStore;
  readonly audit: AuditWrites;
  readonly changes: RecordChanges;
}

export interface AccountStoreOptions {
  readonly records: RecordStore;
  readonly audit: AuditWrites;
  readonly clock: Clock;
  readonly random: Random;
}

export function createAccountStore({ records, audit, clock, random }: AccountStoreOptions): AccountStore {
  const changes = createRecordChanges(records, clock, random);
  const parts = { records, audit, changes };
  const find = (id: string) => records.get(accountKind, id);
  const readAdmins = () => records.get(adminsKind, adminsKey);
  const invitationOf = async (tokenHash: string) =>
    (await queryAll(records, invitationKind, 'token', { partition: tokenHash }, 1))[0];

  const adminsWrite = (
    list: Stored<AdminsRecord> | undefined,
    { id, createdAt }: Account,
    change: 'joins' | 'leaves',
  ): RecordWrite => {
    const others = adminsOf(list).filter(each => each.id !== id);
    return put(adminsKind, { admins: change === 'joins' ? [...others, { id, createdAt }] : others }, list);
  };
  const newAccountWrites = (
    account: Account,
    list: Stored<AdminsRecord> | undefined,
    note: ChangeNote,
  ): RecordWrite[] => [
    put(accountKind, { account, sessionEpoch: 0 }),
    ...(isActiveAdmin(account) ? [adminsWrite(list, account, 'joins')] : []),
    ...(account.email === null ? [] : [put(emailKind, { email: account.email, accountId: account.id })]),
    ...audit.writesOf([accountRecord(note, undefined, account)]),
  ];

  /** Either the writes of the change, or why it is rejected. */
  const changeWrites = async (
    before: Stored<AccountRecord>,
    change: AccountChange,
    note: ChangeNote,
  ): Promise<{ account: Account; writes: RecordWrite[] } | 'email_taken' | 'last_admin'> => {
    const { account, sessionEpoch } = before.value;
    const after = changed(account, change);
    const writes: RecordWrite[] = [];
    if (after.email !== account.email) {
      const [holder, released] = await Promise.all([emailOf(after.email), emailOf(account.email)]);
      if (holder !== undefined) return 'email_taken';
      if (after.email !== null) writes.push(put(emailKind, { email: after.email, accountId: account.id }));
      if (released !== undefined) writes.push(remove(emailKind, released));
    }
    if (isActiveAdmin(account) !== isActiveAdmin(after)) {
      const list = await readAdmins();
      const isLeaving = isActiveAdmin(account);
      if (isLeaving && adminsOf(list).every(({ id }) => id === account.id)) return 'last_admin';
      writes.push(adminsWrite(list, after, isLeaving ? 'leaves' : 'joins'));
    }
    const { endSessions } = change;
    const epoch = endSessions === undefined ? sessionEpoch : sessionEpoch + 1;
    if (typeof endSessions === 'object' && endSessions.except !== null) {
      const { sessions } = await readSessions(records, account.id);
      const kept = sessions.find(({ value }) => value.session.id === endSessions.except);
      const isThere = kept?.value.accountEpoch === sessionEpoch;
      if (isThere) writes.push(put(sessionKind, { ...kept.value, accountEpoch: epoch }, kept));
    }
    writes.push(
      put(accountKind, { account: after, sessionEpoch: epoch }, before),
      ...audit.writesOf([accountRecord(note, account, after)]),
    );
    return { account: after, writes };
  };
  const emailOf = async (email: string | null) =>
    email === null ? undefined : records.get(emailKind, email);

  return {
    ...createKeyStore(parts),
    ...createSessionStore(parts),

    setUp: (candidate, offered, note, abandonedKeyId) =>
      changes.run<SetUp>('set-up', async () => {
        const [list, secret] = await Promise.all([readAdmins(), records.get(secretKind, offered.keyHash)]);
        const [oldest] = adminsOf(list);
        const first = oldest && (await find(oldest.id));
        const account = first?.value.account ?? candidate;
        const key = { ...offered, accountId: account.id };
        const keyWrites =
          secret === undefined
            ? [...newKeyWrites(key), ...audit.writesOf([keyRecord(note, undefined, key)])]
            : [];
        const answer = { account, keyed: secret === undefined, unseenKeyId: undefined };
        if (first === undefined) {
          const keyList =
            secret === undefined ? [putList(keyListKind, account.id, undefined, { added: [key.id] })] : [];
          return { answer, writes: [...newAccountWrites(account, list, note), ...keyList, ...keyWrites] };
        }
        const { list: keyList, keys: existing } = await readKeys(records, account.id);
        const unseen = unseenKeyOf(existing.map(({ value }) => value.key));
        const isOpen = existing.length > 0 || account.passwordHash !== null;
        if (isOpen && (unseen === undefined || unseen.id !== abandonedKeyId)) {
          return { answer: { account, keyed: false, unseenKeyId: unseen?.id } };
        }
        if (secret !== undefined) return { answer };
        const removals = await Promise.all(existing.map(each => keyRemoval(records, each)));
        const changed = { added: [key.id], removed: existing.map(each => each.key) };
        const guard = putList(keyListKind, account.id, keyList, changed);
        // A password that is set meanwhile makes the account accessible.
        return {
          answer,
          writes: [check(accountKind, first.key, first), guard, ...removals.flat(), ...keyWrites],
        };
      }),

    insertAccount: (account, note) =>
      changes.run(`account ${account.id}`, async () => {
        const [same, holder, list] = await Promise.all([
          find(account.id),
          emailOf(account.email),
          readAdmins(),
        ]);
        if (same !== undefined || holder !== undefined) return { answer: false };
        return { answer: true, writes: newAccountWrites(account, list, note) };
      }),

    findAccount: async id => (await find(id))?.value.account,

    async findAccountByEmail(email) {
      const holder = await records.get(emailKind, email);
      const found = holder && (await find(holder.value.accountId));
      return found?.value.account.email === email ? found.value.account : undefined;
    },

    async listAccounts(page) {
      const found = await records.query(accountKind, 'created', { partition: 'all' }, page);
      return { accounts: found.records.map(({ value }) => value.account), nextCursor: found.next };
    },

    changeAccount: (accountId, change, note) =>
      changes.run<AccountChanged>(`account ${accountId}`, async () => {
        const before = await find(accountId);
        if (before === undefined) return { answer: { kind: 'missing' } };
        const { passwordHash } = before.value.account;
        if (change.ifPasswordHash !== undefined && change.ifPasswordHash !== passwordHash)
          return { answer: { kind: 'other_password' } };
        const made = await changeWrites(before, change, note);
        if (typeof made === 'string') return { answer: { kind: made } };
        return { answer: { kind: 'changed', account: made.account }, writes: made.writes };
      }),

    invite: (invitation, note) =>
      changes.run(`account ${invitation.accountId}`, async () => {
        const [found, before] = await Promise.all([
          find(invitation.accountId),
          records.get(invitationKind, invitation.accountId),
        ]);
        if (found === undefined) return { answer: false };
        const { account } = found.value;
        const entry = accountRecord(note, account, account);
        return {
          answer: true,
          writes: [put(invitationKind, invitation, before), ...audit.writesOf([entry])],
        };
      }),

    async findInvitation(tokenHash) {
      const invitation = await invitationOf(tokenHash);
      const found = invitation && (await find(invitation.value.accountId));
      return found && { account: found.value.account, invitation: invitation.value };
    },

    acceptInvitation: (tokenHash, passwordHash, note) =>
      changes.run(`invitation ${tokenHash}`, async () => {
        const invitation = await invitationOf(tokenHash);
        const before = invitation && (await find(invitation.value.accountId));
        if (invitation === undefined || before === undefined) return { answer: undefined };
        const made = await changeWrites(before, { passwordHash, endSessions: 'all' }, note);
        invariant(typeof made === 'object', 'a password takes no address and no admin away');
        return { answer: made.account, writes: [remove(invitationKind, invitation), ...made.writes] };
      }),
  };
}
