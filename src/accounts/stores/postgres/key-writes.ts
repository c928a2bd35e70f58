/** The writes of API keys. */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import type { ApiKey } from '../../account.ts';
import { type ChangeNote, keyRecord } from '../../change-note.ts';
import { deadKeysMax, type KeyRotation, keysPerAccountMax } from '../../key-store.ts';
import { type ApiKeyRow, apiKeyOf } from '../rows.ts';
import { holdAccount } from './turns.ts';

export async function insertKey(
  tx: PostgresTransaction,
  key: ApiKey,
  note: ChangeNote,
): Promise<'inserted' | 'taken' | 'full'> {
  await holdAccount(tx, key.accountId);
  const [count] = await tx.query<{ live: number }>(
    `SELECT count(*) AS live FROM api_keys
     WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    [key.accountId, note.at],
  );
  if (count!.live >= keysPerAccountMax) return 'full';
  if (!(await write(tx, key))) return 'taken';
  await tx.query(
    `DELETE FROM api_keys WHERE id IN (
       SELECT id FROM api_keys
       WHERE account_id = $1 AND (revoked_at IS NOT NULL OR expires_at <= $2) AND id <> $3
       ORDER BY created_at DESC, id DESC OFFSET ${deadKeysMax})`,
    [key.accountId, note.at, key.id],
  );
  await appendAudit(tx, [keyRecord(note, undefined, key)]);
  return 'inserted';
}

export async function adoptKey(tx: PostgresTransaction, key: ApiKey, note: ChangeNote): Promise<void> {
  await holdAccount(tx, key.accountId);
  const earlier = await tx.query<ApiKeyRow>(
    `SELECT * FROM api_keys
     WHERE account_id = $1 AND origin = 'setting' AND revoked_at IS NULL AND key_hash <> $2 FOR UPDATE`,
    [key.accountId, key.keyHash],
  );
  for (const row of earlier) await revoke(tx, apiKeyOf(row), note);
  const [row] = await tx.query<ApiKeyRow>('SELECT * FROM api_keys WHERE key_hash = $1 FOR UPDATE', [
    key.keyHash,
  ]);
  if (row === undefined) {
    // A secret opens one key: the rotated one that had it before gives it up.
    await tx.query(
      'UPDATE api_keys SET previous_hash = NULL, previous_until = NULL WHERE previous_hash = $1',
      [key.keyHash],
    );
    await write(tx, key);
    return appendAudit(tx, [keyRecord(note, undefined, key)]);
  }
  const known = apiKeyOf(row);
  const { accountId, scopes } = key;
  const after: ApiKey = {
    ...known,
    accountId,
    scopes,
    origin: 'setting',
    expiresAt: null,
    revokedAt: null,
  };
  if (JSON.stringify(after) === JSON.stringify(known)) return;
  await tx.query(
    `UPDATE api_keys SET account_id = $2, origin = 'setting', scopes = $3, expires_at = NULL, revoked_at = NULL
     WHERE id = $1`,
    [known.id, accountId, scopes.join(' ')],
  );
  await appendAudit(tx, [keyRecord(note, known, after)]);
}

export async function rotateKey(
  tx: PostgresTransaction,
  { accountId, keyId, keyHash, previousUntil, exceptSessionId }: KeyRotation,
  note: ChangeNote,
): Promise<ApiKey | undefined> {
  await holdAccount(tx, accountId);
  const before = await holdUnrevoked(tx, accountId, keyId);
  if (before === undefined) return undefined;
  const after: ApiKey = { ...before, keyHash, previousHash: before.keyHash, previousUntil };
  await tx.query(
    'UPDATE api_keys SET previous_hash = key_hash, previous_until = $2, key_hash = $3 WHERE id = $1',
    [keyId, previousUntil, keyHash],
  );
  await tx.query('DELETE FROM sessions WHERE account_id = $1 AND key_id = $2 AND id IS DISTINCT FROM $3', [
    accountId,
    keyId,
    exceptSessionId,
  ]);
  await appendAudit(tx, [keyRecord(note, before, after)]);
  return after;
}

export async function revokeKey(
  tx: PostgresTransaction,
  accountId: string,
  keyId: string,
  note: ChangeNote,
): Promise<boolean> {
  const key = await holdUnrevoked(tx, accountId, keyId);
  if (key !== undefined) await revoke(tx, key, note);
  return key !== undefined;
}

/** The key if it is the account's and not revoked. */
async function holdUnrevoked(
  tx: PostgresTransaction,
  accountId: string,
  keyId: string,
): Promise<ApiKey | undefined> {
  const [row] = await tx.query<ApiKeyRow>(
    'SELECT * FROM api_keys WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL FOR UPDATE',
    [keyId, accountId],
  );
  return row && apiKeyOf(row);
}

async function revoke(tx: PostgresTransaction, key: ApiKey, note: ChangeNote): Promise<void> {
  await tx.query('UPDATE api_keys SET revoked_at = $2 WHERE id = $1', [key.id, note.at]);
  await appendAudit(tx, [keyRecord(note, key, { ...key, revokedAt: note.at })]);
}

/** False when another key has the same secret. */
async function write(tx: PostgresTransaction, key: ApiKey): Promise<boolean> {
  const { id, accountId, name, origin, scopes, keyHash, createdAt, lastUsedAt, expiresAt, revokedAt } = key;
  const written = await tx.query(
    `INSERT INTO api_keys
       (id, account_id, name, origin, scopes, key_hash, created_at, last_used_at, expires_at, revoked_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (key_hash) DO NOTHING RETURNING id`,
    [id, accountId, name, origin, scopes.join(' '), keyHash, createdAt, lastUsedAt, expiresAt, revokedAt],
  );
  return written.length === 1;
}
