/**
 * What lies in the data folder of an embedded store, seen past the product: for promises of what must not be
 * there, and for putting something there that the product itself refuses.
 */
import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import { hashSecret } from '../../src/accounts/secrets.ts';

/** Everything a request can leave behind. Leased ranges are not: they move in the background. */
const queries = {
  links: 'SELECT * FROM links ORDER BY id',
  tags: 'SELECT * FROM link_tags',
  claims: 'SELECT * FROM claims',
  changes: 'SELECT * FROM changes ORDER BY seq',
  answers: 'SELECT * FROM idempotency',
  accounts: 'SELECT * FROM accounts',
  audit: 'SELECT * FROM audit ORDER BY seq',
  reviews: 'SELECT * FROM reviews ORDER BY code',
  reports: 'SELECT * FROM reports ORDER BY code, reporter',
  blockEntries: 'SELECT * FROM block_entries ORDER BY seq',
  // Without `last_used_at`, which also a refused request may move.
  keys: 'SELECT id, account_id, name, key_hash, created_at, revoked_at FROM api_keys ORDER BY id',
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

/** Makes of the keys what they are when the process that makes the first one ends before it has printed it. */
export function forgetThatKeysWereSeen(dataFolder: string): void {
  withDatabase(dataFolder, database =>
    database.run("UPDATE api_keys SET origin = 'unseen', last_used_at = NULL"),
  );
}

/** Adds an account that is not an admin and returns its key. */
export function addAccount(
  dataFolder: string,
  name: string,
  role: 'member' | 'moderator' = 'member',
): string {
  const key = `test-key-of-${name}-0123456789`;
  withDatabase(dataFolder, database => {
    database.run(
      "INSERT INTO accounts (id, name, is_admin, role, plan, created_at) VALUES (?, ?, 0, ?, 'unlimited', 1)",
      [name, name, role],
    );
    database.run('INSERT INTO api_keys (id, account_id, name, key_hash, created_at) VALUES (?, ?, ?, ?, 1)', [
      `key_${name}`,
      name,
      name,
      hashSecret(key),
    ]);
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
