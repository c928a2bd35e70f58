import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { scopes } from '../accounts/account.ts';
import { migrate } from '../engines/sqlite/migrations.ts';
import { type AccountRow, type ApiKeyRow, accountOf, apiKeyOf } from './former-rows.ts';
import { accountMigrations } from './former-schema-sqlite.ts';

test('accounts and keys of the first version keep what they could do', () => {
  const database = new Database(':memory:');
  migrate(database, { ...accountMigrations, steps: accountMigrations.steps.slice(0, 2) });
  database.run("INSERT INTO accounts VALUES ('root', 'admin', 1, 1), ('plain', 'someone', 0, 2)");
  database.run(
    "INSERT INTO api_keys (id, account_id, name, key_hash, created_at) VALUES ('key', 'root', 'n', 'hash', 3)",
  );
  migrate(database, accountMigrations);
  const accounts = database.query<AccountRow, []>('SELECT * FROM accounts ORDER BY created_at').all();
  expect(accounts.map(accountOf)).toMatchObject([
    { id: 'root', role: 'admin', plan: 'unlimited', email: null, passwordHash: null, suspendedAt: null },
    { id: 'plain', role: 'member', plan: 'free', email: null, passwordHash: null, suspendedAt: null },
  ]);
  const [key] = database.query<ApiKeyRow, []>('SELECT * FROM api_keys').all();
  expect(apiKeyOf(key!)).toMatchObject({ scopes, expiresAt: null, previousHash: null, previousUntil: null });
});
