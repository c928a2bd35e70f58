/** The writes of accounts themselves: the first one, the others, their changes and invitations. */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { Account, ApiKey } from '../../account.ts';
import { accountRecord, type ChangeNote } from '../../change-note.ts';
import { unseenKeyOf } from '../../first-key.ts';
import {
  type AccountChange,
  type AccountChanged,
  changed,
  type Invitation,
  isActiveAdmin,
  type SetUp,
} from '../../store.ts';
import { type ApiKeyRow, apiKeyOf } from '../rows.ts';
import { insertKey } from './key-writes.ts';
import { endSessionsOf } from './session-writes.ts';
import { holdAccount, takeAdminTurn } from './turns.ts';

const activeAdmins = "FROM accounts WHERE role = 'admin' AND suspended_at IS NULL";

interface SetUpRequest {
  readonly candidate: Account;
  readonly key: ApiKey;
  readonly note: ChangeNote;
  readonly abandonedKeyId: string | undefined;
}

export async function setUp(tx: PostgresTransaction, request: SetUpRequest): Promise<SetUp> {
  const { key, note, abandonedKeyId } = request;
  await takeAdminTurn(tx);
  const account = (await holdFirstAdmin(tx)) ?? request.candidate;
  if (account === request.candidate) await insertAccount(tx, account, note);
  // Held as well, because a key that is being noted as seen must not be given up.
  const rows = await tx.query<ApiKeyRow>('SELECT * FROM api_keys WHERE account_id = $1 LIMIT 2 FOR UPDATE', [
    account.id,
  ]);
  const existing = rows.map(apiKeyOf);
  const unseen = unseenKeyOf(existing);
  const isOpen = existing.length > 0 || account.passwordHash !== null;
  if (isOpen && (unseen === undefined || unseen.id !== abandonedKeyId)) {
    return { account, keyed: false, unseenKeyId: unseen?.id };
  }
  if (unseen !== undefined) await tx.query('DELETE FROM api_keys WHERE id = $1', [unseen.id]);
  const outcome = await insertKey(tx, { ...key, accountId: account.id }, note);
  return { account, keyed: outcome === 'inserted', unseenKeyId: undefined };
}

/** The oldest admin that is not suspended. */
async function holdFirstAdmin(tx: PostgresTransaction): Promise<Account | undefined> {
  const [first] = await tx.query<{ id: string }>(`SELECT id ${activeAdmins} ORDER BY created_at, id LIMIT 1`);
  return first && holdAccount(tx, first.id);
}

export async function insertAccount(
  tx: PostgresTransaction,
  account: Account,
  note: ChangeNote,
): Promise<boolean> {
  const { id, name, role, plan, email, passwordHash, createdAt, suspendedAt } = account;
  const inserted = await tx.query(
    `INSERT INTO accounts (id, name, role, plan, email, password_hash, created_at, suspended_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING RETURNING id`,
    [id, name, role, plan, email, passwordHash, createdAt, suspendedAt],
  );
  if (inserted.length === 0) return false;
  await appendAudit(tx, [accountRecord(note, undefined, account)]);
  return true;
}

export async function changeAccount(
  tx: PostgresTransaction,
  accountId: string,
  change: AccountChange,
  note: ChangeNote,
): Promise<AccountChanged> {
  if (change.role !== undefined || change.suspendedAt !== undefined) await takeAdminTurn(tx);
  const before = await holdAccount(tx, accountId);
  if (before === undefined) return { kind: 'missing' };
  const after = changed(before, change);
  if (await isHeldByAnother(tx, after)) return { kind: 'email_taken' };
  if (isActiveAdmin(before) && !isActiveAdmin(after) && !(await hasOtherAdmin(tx, accountId))) {
    return { kind: 'last_admin' };
  }
  const { id, name, role, plan, email, passwordHash, suspendedAt } = after;
  await tx.query(
    `UPDATE accounts SET name = $2, role = $3, plan = $4, email = $5, password_hash = $6, suspended_at = $7
     WHERE id = $1`,
    [id, name, role, plan, email, passwordHash, suspendedAt],
  );
  if (change.endSessions !== undefined) {
    const exceptId = change.endSessions === 'all' ? null : change.endSessions.except;
    await endSessionsOf(tx, accountId, exceptId);
  }
  await appendAudit(tx, [accountRecord(note, before, after)]);
  return { kind: 'changed', account: after };
}

async function isHeldByAnother(tx: PostgresTransaction, { id, email }: Account): Promise<boolean> {
  if (email === null) return false;
  const holders = await tx.query('SELECT 1 FROM accounts WHERE email = $1 AND id <> $2', [email, id]);
  return holders.length > 0;
}

async function hasOtherAdmin(tx: PostgresTransaction, accountId: string): Promise<boolean> {
  return (await tx.query(`SELECT 1 ${activeAdmins} AND id <> $1 LIMIT 1`, [accountId])).length > 0;
}

export async function invite(
  tx: PostgresTransaction,
  { accountId, tokenHash, expiresAt }: Invitation,
  note: ChangeNote,
): Promise<boolean> {
  const account = await holdAccount(tx, accountId);
  if (account === undefined) return false;
  await tx.query(
    `INSERT INTO invitations (account_id, token_hash, expires_at) VALUES ($1, $2, $3)
     ON CONFLICT (account_id) DO UPDATE SET token_hash = excluded.token_hash, expires_at = excluded.expires_at`,
    [accountId, tokenHash, expiresAt],
  );
  await appendAudit(tx, [accountRecord(note, account, account)]);
  return true;
}

export async function acceptInvitation(
  tx: PostgresTransaction,
  tokenHash: string,
  passwordHash: string,
  note: ChangeNote,
): Promise<Account | undefined> {
  const [invited] = await tx.query<{ account_id: string }>(
    'SELECT account_id FROM invitations WHERE token_hash = $1',
    [tokenHash],
  );
  if (invited === undefined) return undefined;
  await holdAccount(tx, invited.account_id);
  // Only now, while nobody else can: it may have been used, or another may have taken its place.
  const used = await tx.query('DELETE FROM invitations WHERE token_hash = $1 RETURNING account_id', [
    tokenHash,
  ]);
  if (used.length === 0) return undefined;
  const change = { passwordHash, endSessions: 'all' } as const;
  const outcome = await changeAccount(tx, invited.account_id, change, note);
  return outcome.kind === 'changed' ? outcome.account : undefined;
}
