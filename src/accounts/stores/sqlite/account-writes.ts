/** The writes of accounts themselves: the first one, the others, their changes and invitations. */
import type { Database } from 'bun:sqlite';
import type { Account, ApiKey } from '../../account.ts';
import { accountRecord, type ChangeNote, type KeepRecord } from '../../change-note.ts';
import { unseenKeyOf } from '../../first-key.ts';
import {
  type AccountChange,
  type AccountChanged,
  changed,
  type Invitation,
  isActiveAdmin,
  type SetUp,
} from '../../store.ts';
import { type AccountRow, type ApiKeyRow, accountOf, apiKeyOf, type InvitationRow } from '../rows.ts';
import type { KeyWrites } from './key-writes.ts';
import type { SessionWrites } from './session-writes.ts';

interface SetUpRequest {
  readonly candidate: Account;
  readonly key: ApiKey;
  readonly note: ChangeNote;
  readonly abandonedKeyId: string | undefined;
}

interface ChangeRequest {
  readonly accountId: string;
  readonly change: AccountChange;
  readonly note: ChangeNote;
}

const activeAdmins = "FROM accounts WHERE role = 'admin' AND suspended_at IS NULL";

export function accountWrites(
  database: Database,
  keep: KeepRecord,
  keys: KeyWrites,
  sessions: SessionWrites,
) {
  const firstAdmin = database.query<AccountRow, []>(
    `SELECT * ${activeAdmins} ORDER BY created_at, id LIMIT 1`,
  );
  const otherAdmin = database.query<AccountRow, [string]>(`SELECT * ${activeAdmins} AND id <> ? LIMIT 1`);
  const find = database.query<AccountRow, [string]>('SELECT * FROM accounts WHERE id = ?');
  const holderOf = database.query<{ id: string }, [string]>('SELECT id FROM accounts WHERE email = ?');
  const add = database.query(`
    INSERT INTO accounts (id, name, role, is_admin, plan, email, password_hash, created_at, suspended_at)
    VALUES (?1, ?2, ?3, ?3 = 'admin', ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING`);
  const replace = database.query(`
    UPDATE accounts SET name = ?2, role = ?3, is_admin = (?3 = 'admin'), plan = ?4, email = ?5,
      password_hash = ?6, suspended_at = ?7 WHERE id = ?1`);
  const keysOf = database.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE account_id = ? LIMIT 2');
  const removeKey = database.query('DELETE FROM api_keys WHERE id = ?');
  const addInvitation = database.query(
    'INSERT OR REPLACE INTO invitations (account_id, token_hash, expires_at) VALUES (?, ?, ?)',
  );
  const takeInvitation = database.query<InvitationRow, [string]>(
    'DELETE FROM invitations WHERE token_hash = ? RETURNING *',
  );

  const found = (id: string): Account | undefined => {
    const row = find.get(id);
    return row === null ? undefined : accountOf(row);
  };

  const insertAccount = ({ account, note }: { account: Account; note: ChangeNote }): boolean => {
    const { id, name, role, plan, email, passwordHash, createdAt, suspendedAt } = account;
    const { changes } = add.run(id, name, role, plan, email, passwordHash, createdAt, suspendedAt);
    if (changes === 1) keep(accountRecord(note, undefined, account));
    return changes === 1;
  };

  const changeAccount = ({ accountId, change, note }: ChangeRequest): AccountChanged => {
    const before = found(accountId);
    if (before === undefined) return { kind: 'missing' };
    const after = changed(before, change);
    const holder = after.email === null ? null : holderOf.get(after.email);
    if (holder !== null && holder.id !== accountId) return { kind: 'email_taken' };
    if (isActiveAdmin(before) && !isActiveAdmin(after) && otherAdmin.get(accountId) === null) {
      return { kind: 'last_admin' };
    }
    const { id, name, role, plan, email, passwordHash, suspendedAt } = after;
    replace.run(id, name, role, plan, email, passwordHash, suspendedAt);
    if (change.endSessions !== undefined) {
      const exceptId = change.endSessions === 'all' ? null : change.endSessions.except;
      sessions.endSessionsOf({ accountId, exceptId });
    }
    keep(accountRecord(note, before, after));
    return { kind: 'changed', account: after };
  };

  return {
    setUpAccount({ candidate, key, note, abandonedKeyId }: SetUpRequest): SetUp {
      const first = firstAdmin.get();
      const account = first === null ? candidate : accountOf(first);
      if (first === null) insertAccount({ account, note });
      const existing = keysOf.all(account.id).map(apiKeyOf);
      const unseen = unseenKeyOf(existing);
      const isOpen = existing.length > 0 || account.passwordHash !== null;
      if (isOpen && (unseen === undefined || unseen.id !== abandonedKeyId)) {
        return { account, keyed: false, unseenKeyId: unseen?.id };
      }
      if (unseen !== undefined) removeKey.run(unseen.id);
      const outcome = keys.insertKey({ key: { ...key, accountId: account.id }, note });
      return { account, keyed: outcome === 'inserted', unseenKeyId: undefined };
    },
    insertAccount,
    changeAccount,
    inviteAccount({ invitation, note }: { invitation: Invitation; note: ChangeNote }): boolean {
      const account = found(invitation.accountId);
      if (account === undefined) return false;
      addInvitation.run(invitation.accountId, invitation.tokenHash, invitation.expiresAt);
      keep(accountRecord(note, account, account));
      return true;
    },
    acceptInvitation(request: { tokenHash: string; passwordHash: string; note: ChangeNote }) {
      const { tokenHash, passwordHash, note } = request;
      const invitation = takeInvitation.get(tokenHash);
      if (invitation === null) return undefined;
      const change = { passwordHash, endSessions: 'all' } as const;
      const outcome = changeAccount({ accountId: invitation.account_id, change, note });
      return outcome.kind === 'changed' ? outcome.account : undefined;
    },
  };
}
