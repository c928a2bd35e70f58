/** Everything that changes accounts, run on the writer thread inside its shared transaction. */
import type { Database } from 'bun:sqlite';
import type { Account, ApiKey } from '../../account.ts';
import { type AccountRow, accountOf } from './rows.ts';

export function accountOperations(database: Database) {
  const firstAccount = database.query<AccountRow, []>(
    'SELECT * FROM accounts ORDER BY created_at, id LIMIT 1',
  );
  const addAccount = database.query(
    'INSERT INTO accounts (id, name, is_admin, created_at) VALUES (?, ?, ?, ?)',
  );
  const addKey = database.query(`
    INSERT INTO api_keys (id, account_id, name, key_hash, created_at, last_used_at, revoked_at)
    VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key_hash) DO NOTHING`);
  const revoke = database.query(
    'UPDATE api_keys SET revoked_at = ? WHERE id = ? AND account_id = ? AND revoked_at IS NULL',
  );
  const touch = database.query('UPDATE api_keys SET last_used_at = ? WHERE id = ?');

  return {
    setUpAccount(candidate: Account): { account: Account; created: boolean } {
      const existing = firstAccount.get();
      if (existing !== null) return { account: accountOf(existing), created: false };
      addAccount.run(candidate.id, candidate.name, candidate.isAdmin ? 1 : 0, candidate.createdAt);
      return { account: candidate, created: true };
    },
    insertKey: (key: ApiKey): boolean =>
      addKey.run(key.id, key.accountId, key.name, key.keyHash, key.createdAt, key.lastUsedAt, key.revokedAt)
        .changes === 1,
    revokeKey: ({ accountId, keyId, at }: { accountId: string; keyId: string; at: number }): boolean =>
      revoke.run(at, keyId, accountId).changes === 1,
    touchKey({ keyId, at }: { keyId: string; at: number }): void {
      touch.run(at, keyId);
    },
  };
}

export type AccountOperations = ReturnType<typeof accountOperations>;
