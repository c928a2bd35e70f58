/**
 * Reads and writes the data folder of an embedded store directly: to check what must not be stored, and to store what
 * the product rejects.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { fakeAccount, fakeKey } from '../../src/accounts/fake-actors.ts';
import { hashSecret } from '../../src/accounts/secrets.ts';
import { prepareRecordWrites } from '../../src/records/drivers/sqlite.ts';
import { accountWrites, keyWrites } from '../../src/stores/former-tables.ts';

/** Everything that a request can leave behind. Without leased ranges, which change in the background. */
const queries = {
  links: 'SELECT * FROM links ORDER BY id',
  tags: 'SELECT * FROM link_tags',
  claims: 'SELECT * FROM claims',
  changes: 'SELECT * FROM changes ORDER BY seq',
  answers: 'SELECT * FROM idempotency',
  accounts: "SELECT key, value FROM records WHERE kind = 'account' ORDER BY key",
  audit: "SELECT key, value, value ->> 'action' AS action FROM records WHERE kind = 'audit' ORDER BY key",
  reviews: "SELECT key, value FROM records WHERE kind = 'review' ORDER BY key",
  reports: "SELECT key, value FROM records WHERE kind = 'report' ORDER BY key",
  blockEntries: "SELECT key, value FROM records WHERE kind = 'block-entry' ORDER BY key",
  // Without `lastUsedAt`, which a rejected request may change, too.
  keys: "SELECT key, json_remove(value, '$.key.lastUsedAt') AS value FROM records WHERE kind = 'key' ORDER BY key",
} as const;

export type StoredRows = Readonly<Record<keyof typeof queries, readonly Record<string, unknown>[]>>;

export function storedRows(dataFolder: string): StoredRows {
  return withDatabase(dataFolder, database => {
    const tables = Object.entries(queries).map(([name, query]) => [name, database.query(query).all()]);
    return Object.fromEntries(tables) as StoredRows;
  });
}

/** Changes a link's destination the way no request can. */
export function forceLongUrl(dataFolder: string, code: string, longUrl: string): void {
  withDatabase(dataFolder, database =>
    database.run('UPDATE links SET long_url = ? WHERE code = ?', [longUrl, code]),
  );
}

const forcedStates = {
  disabled: 'status = 1',
  quarantined: 'status = 3',
  blocked: 'status = 4',
  expired: 'expires_at = created_at',
  exhausted: 'max_clicks = 1, used_clicks = 1',
} as const;

/** Puts a link into a state that would take time, visits or a moderator. */
export function forceLinkState(dataFolder: string, code: string, state: keyof typeof forcedStates): void {
  withDatabase(dataFolder, database =>
    database.run(`UPDATE links SET ${forcedStates[state]} WHERE code = ?`, [code]),
  );
}

/** Sets keys to the state in which a first start leaves them if it ends before printing the key. */
export function forgetThatKeysWereSeen(dataFolder: string): void {
  withDatabase(dataFolder, database =>
    database.run(`UPDATE records SET value = json_set(value, '$.key.origin', 'unseen', '$.key.lastUsedAt', NULL)
      WHERE kind = 'key'`),
  );
}

/** Adds an account that is not an admin and returns its key. */
export function addAccount(
  dataFolder: string,
  name: string,
  role: 'member' | 'moderator' = 'member',
): string {
  const key = `test-key-of-${name}-0123456789`;
  const account = fakeAccount(name, { name, role, createdAt: 1 });
  const apiKey = fakeKey(`key_${name}`, name, { name, keyHash: hashSecret(key), createdAt: 1 });
  withDatabase(dataFolder, database => {
    const write = prepareRecordWrites(database);
    // Immediate, because the server writes to the same file: a read lock could not be upgraded to a write lock.
    database
      .transaction(() => write([...accountWrites(account, [apiKey], [], []), ...keyWrites(apiKey)], 0))
      .immediate();
  });
  return key;
}

function withDatabase<Result>(dataFolder: string, use: (database: Database) => Result): Result {
  const database = new Database(join(dataFolder, 'terse.db'), { readwrite: true });
  try {
    database.run('PRAGMA busy_timeout = 5000');
    return use(database);
  } finally {
    database.close();
  }
}
