/** Accounts, keys and sessions in memory, for tests and for trying Terse out. Every method is one step. */
import type { Account } from '../account.ts';
import { cursorOf, isBehind, placeOf } from '../account-cursor.ts';
import { accountRecord, type ChangeNote, type KeepRecord } from '../change-note.ts';
import { unseenKeyOf } from '../first-key.ts';
import {
  type AccountChange,
  type AccountChanged,
  type AccountStore,
  changed,
  type Invitation,
  isActiveAdmin,
} from '../store.ts';
import { createMemoryKeys } from './memory-keys.ts';
import { createMemorySessions } from './memory-sessions.ts';

export function createMemoryAccountStore(keep: KeepRecord = () => {}): AccountStore {
  const accounts = new Map<string, Account>();
  const invitations = new Map<string, Invitation>();
  const find = (id: string): Account | undefined => accounts.get(id);
  const all = (): Account[] =>
    [...accounts.values()].sort(
      (one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1),
    );
  const byEmail = (email: string | null): Account | undefined =>
    email === null ? undefined : all().find(account => account.email === email);

  const { keysOf, removeKey, ...keys } = createMemoryKeys(keep, find);
  const { endSessionsOf, endSessionsOpenedBy, ...sessions } = createMemorySessions(keep, find, keys.findKey);

  const changeAccount = (id: string, change: AccountChange, note: ChangeNote): AccountChanged => {
    const before = find(id);
    if (before === undefined) return { kind: 'missing' };
    const after = changed(before, change);
    const holder = byEmail(after.email);
    if (holder !== undefined && holder.id !== id) return { kind: 'email_taken' };
    const hasOtherAdmin = all().some(other => other.id !== id && isActiveAdmin(other));
    if (isActiveAdmin(before) && !isActiveAdmin(after) && !hasOtherAdmin) return { kind: 'last_admin' };
    accounts.set(id, after);
    if (change.endSessions !== undefined) {
      endSessionsOf(id, change.endSessions === 'all' ? null : change.endSessions.except);
    }
    keep(accountRecord(note, before, after));
    return { kind: 'changed', account: after };
  };

  return {
    ...keys,
    ...sessions,
    async rotateKey(rotation, note) {
      const rotated = await keys.rotateKey(rotation, note);
      if (rotated !== undefined) endSessionsOpenedBy(rotation.keyId, rotation.exceptSessionId);
      return rotated;
    },
    async setUp(candidate, key, note, abandonedKeyId) {
      const account = all().find(isActiveAdmin) ?? candidate;
      if (!accounts.has(account.id)) keep(accountRecord(note, undefined, account));
      accounts.set(account.id, account);
      const existing = keysOf(account.id);
      const unseen = unseenKeyOf(existing);
      const isOpen = existing.length > 0 || account.passwordHash !== null;
      if (isOpen && (unseen === undefined || unseen.id !== abandonedKeyId)) {
        return { account, keyed: false, unseenKeyId: unseen?.id };
      }
      if (unseen !== undefined) removeKey(unseen.id);
      const outcome = await keys.insertKey({ ...key, accountId: account.id }, note);
      return { account, keyed: outcome === 'inserted', unseenKeyId: undefined };
    },
    async insertAccount(account, note) {
      if (byEmail(account.email) !== undefined) return false;
      accounts.set(account.id, account);
      keep(accountRecord(note, undefined, account));
      return true;
    },
    findAccount: async id => find(id),
    findAccountByEmail: async email => byEmail(email),
    async listAccounts({ limit, cursor }) {
      const place = cursor === undefined ? undefined : placeOf(cursor);
      const rest = all().filter(account => place === undefined || isBehind(account, place));
      const shown = rest.slice(0, limit);
      return { accounts: shown, nextCursor: rest.length > limit ? cursorOf(shown.at(-1)!) : undefined };
    },
    changeAccount: async (id, change, note) => changeAccount(id, change, note),
    async invite(invitation, note) {
      const account = find(invitation.accountId);
      if (account === undefined) return false;
      invitations.set(invitation.accountId, invitation);
      keep(accountRecord(note, account, account));
      return true;
    },
    async findInvitation(tokenHash) {
      const invitation = [...invitations.values()].find(each => each.tokenHash === tokenHash);
      const account = invitation && find(invitation.accountId);
      return account && { account, invitation };
    },
    async acceptInvitation(tokenHash, passwordHash, note) {
      const invitation = [...invitations.values()].find(each => each.tokenHash === tokenHash);
      if (invitation === undefined) return undefined;
      invitations.delete(invitation.accountId);
      const outcome = changeAccount(invitation.accountId, { passwordHash, endSessions: 'all' }, note);
      return outcome.kind === 'changed' ? outcome.account : undefined;
    },
  };
}
