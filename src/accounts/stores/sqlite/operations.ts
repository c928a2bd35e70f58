/** Everything that changes accounts, run on the writer thread inside its shared transaction. */
import type { Database } from 'bun:sqlite';
import type { Account, ApiKey } from '../../account.ts';
import { unseenKeyOf } from '../../first-key.ts';
import type { SetUp } from '../../store.ts';
import { type AccountRow, type ApiKeyRow, accountOf, apiKeyOf } from './rows.ts';

export interface SetUpRequest {
  readonly candidate: Account;
  readonly key: ApiKey;
  readonly abandonedKeyId: string | undefined;
}

export function accountOperations(database: Database) {
  const firstAccount = database.query<AccountRow, []>(
    'SELECT * FROM accounts ORDER BY created_at, id LIMIT 1',
  );
  const addAccount = database.query(
    'INSERT INTO accounts (id, name, is_admin, created_at) VALUES (?, ?, ?, ?)',
  );
  const addKey = database.query(`
    INSERT INTO api_keys (id, account_id, name, key_hash, created_at, last_used_at, revoked_at, origin)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_hash) DO NOTHING`);
  const keysOf = database.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE account_id = ? LIMIT 2');
  const removeKey = database.query('DELETE FROM api_keys WHERE id = ?');
  const revokeSettingKeys = database.query(
    "UPDATE api_keys SET revoked_at = ? WHERE account_id = ? AND origin = 'setting' AND revoked_at IS NULL",
  );
  const adopt = database.query(
    "UPDATE api_keys SET account_id = ?, origin = 'setting', revoked_at = NULL WHERE key_hash = ?",
  );
  const see = database.query("UPDATE api_keys SET origin = 'issued' WHERE id = ? AND origin = 'unseen'");
  const revoke = database.query(
    'UPDATE api_keys SET revoked_at = ? WHERE id = ? AND account_id = ? AND revoked_at IS NULL',
  );
  const touch = database.query('UPDATE api_keys SET last_used_at = ? WHERE id = ?');

  const insertKey = (key: ApiKey): boolean => {
    const { id, accountId, name, keyHash, createdAt, lastUsedAt, revokedAt, origin } = key;
    return addKey.run(id, accountId, name, keyHash, createdAt, lastUsedAt, revokedAt, origin).changes === 1;
  };

  return {
    setUpAccount({ candidate, key, abandonedKeyId }: SetUpRequest): SetUp {
      const first = firstAccount.get();
      const account = first === null ? candidate : accountOf(first);
      if (first === null)
        addAccount.run(account.id, account.name, account.isAdmin ? 1 : 0, account.createdAt);
      const existing = keysOf.all(account.id).map(apiKeyOf);
      const unseen = unseenKeyOf(existing);
      if (existing.length > 0 && (unseen === undefined || unseen.id !== abandonedKeyId)) {
        return { account, keyed: false, unseenKeyId: unseen?.id };
      }
      if (unseen !== undefined) removeKey.run(unseen.id);
      return { account, keyed: insertKey({ ...key, accountId: account.id }), unseenKeyId: undefined };
    },
    adoptKey(key: ApiKey): void {
      revokeSettingKeys.run(key.createdAt, key.accountId);
      if (adopt.run(key.accountId, key.keyHash).changes === 0) insertKey(key);
    },
    noteKeySeen(keyId: string): void {
      see.run(keyId);
    },
    insertKey,
    revokeKey: ({ accountId, keyId, at }: { accountId: string; keyId: string; at: number }): boolean =>
      revoke.run(at, keyId, accountId).changes === 1,
    touchKey({ keyId, at }: { keyId: string; at: number }): void {
      touch.run(at, keyId);
    },
  };
}

export type AccountOperations = ReturnType<typeof accountOperations>;
