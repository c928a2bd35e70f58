/** Accounts and keys in the embedded database, beside the links. */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { AccountStore } from '../../store.ts';
import type { AccountOperations } from './operations.ts';
import { type AccountRow, type ApiKeyRow, accountOf, apiKeyOf } from './rows.ts';

export function createSqliteAccountStore(
  reader: Database,
  writer: SqliteWriter<AccountOperations>,
): AccountStore {
  const keyByHash = reader.query<ApiKeyRow, [string]>('SELECT * FROM api_keys WHERE key_hash = ?');
  const accountById = reader.query<AccountRow, [string]>('SELECT * FROM accounts WHERE id = ?');
  const keysOf = reader.query<ApiKeyRow, [string]>(
    'SELECT * FROM api_keys WHERE account_id = ? ORDER BY created_at, id',
  );
  return {
    setUp: candidate => writer.run('setUpAccount', candidate),
    insertKey: key => writer.run('insertKey', key),
    async findByKeyHash(keyHash) {
      const key = keyByHash.get(keyHash);
      const account = key === null ? null : accountById.get(key.account_id);
      return key === null || account === null
        ? undefined
        : { account: accountOf(account), key: apiKeyOf(key) };
    },
    listKeys: async accountId => keysOf.all(accountId).map(apiKeyOf),
    revokeKey: (accountId, keyId, at) => writer.run('revokeKey', { accountId, keyId, at }),
    touchKey: (keyId, at) => writer.run('touchKey', { keyId, at }),
  };
}
