/** Accounts and keys in the embedded database, beside the links. */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { AccountStore } from '../../store.ts';
import type { AccountOperations } from './operations.ts';
import { type ApiKeyRow, accountOf, apiKeyOf } from './rows.ts';

export function createSqliteAccountStore(
  reader: Database,
  writer: SqliteWriter<AccountOperations>,
): AccountStore {
  // Every request with a key asks this, so it is one statement.
  const byHash = reader.query<
    ApiKeyRow & { owner_name: string; is_admin: number; owner_since: number },
    [string]
  >(`
    SELECT api_keys.*, accounts.name AS owner_name, is_admin, accounts.created_at AS owner_since
    FROM api_keys JOIN accounts ON accounts.id = account_id WHERE key_hash = ?`);
  const keysOf = reader.query<ApiKeyRow, [string]>(
    'SELECT * FROM api_keys WHERE account_id = ? ORDER BY created_at, id',
  );
  return {
    setUp: (candidate, key, abandonedKeyId) => writer.run('setUpAccount', { candidate, key, abandonedKeyId }),
    adoptKey: key => writer.run('adoptKey', key),
    noteSeen: keyId => writer.run('noteKeySeen', keyId),
    insertKey: key => writer.run('insertKey', key),
    async findByKeyHash(keyHash) {
      const row = byHash.get(keyHash);
      if (row === null) return undefined;
      const { account_id: id, owner_name: name, is_admin, owner_since: created_at } = row;
      return { account: accountOf({ id, name, is_admin, created_at }), key: apiKeyOf(row) };
    },
    listKeys: async accountId => keysOf.all(accountId).map(apiKeyOf),
    revokeKey: (accountId, keyId, at) => writer.run('revokeKey', { accountId, keyId, at }),
    touchKey: (keyId, at) => writer.run('touchKey', { keyId, at }),
  };
}
