import { formerComponents } from './former-fence.ts';

/** The tables of accounts, the audit trail, reviews, reports and blocklist entries before they became records, for tests. */
const columns = {
  audit: `seq SERIAL, at INT NOT NULL, actor_kind TEXT NOT NULL, account_id TEXT, key_id TEXT, action TEXT NOT NULL,
    subject_kind TEXT NOT NULL, subject_id TEXT NOT NULL, before TEXT, after TEXT, reason TEXT,
    routine FLAG NOT NULL DEFAULT FALSE`,
  accounts: `id TEXT PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, plan TEXT NOT NULL, email TEXT UNIQUE,
    password_hash TEXT, created_at INT NOT NULL, suspended_at INT`,
  api_keys: `id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), name TEXT NOT NULL,
    origin TEXT NOT NULL, scopes TEXT NOT NULL, key_hash TEXT NOT NULL UNIQUE, previous_hash TEXT UNIQUE,
    previous_until INT, created_at INT NOT NULL, last_used_at INT, expires_at INT, revoked_at INT`,
  sessions: `id TEXT PRIMARY KEY, account_id TEXT NOT NULL REFERENCES accounts (id), token_hash TEXT NOT NULL UNIQUE,
    key_id TEXT, user_agent TEXT NOT NULL, created_at INT NOT NULL, last_seen_at INT NOT NULL, expires_at INT NOT NULL`,
  invitations: `account_id TEXT PRIMARY KEY REFERENCES accounts (id), token_hash TEXT NOT NULL UNIQUE,
    expires_at INT NOT NULL`,
  reviews: `code TEXT PRIMARY KEY, opened_at INT, place INT, score INT NOT NULL DEFAULT 0, held_from TEXT,
    reporters INT NOT NULL DEFAULT 0, appeal TEXT, appealed_at INT, appeals INT NOT NULL DEFAULT 0, decided_at INT`,
  reports: `code TEXT NOT NULL, reporter TEXT NOT NULL, category TEXT NOT NULL, text TEXT, at INT NOT NULL,
    times INT NOT NULL, PRIMARY KEY (code, reporter)`,
  block_entries: `seq SERIAL, id TEXT NOT NULL UNIQUE, entry TEXT NOT NULL, reason TEXT, added_at INT NOT NULL,
    added_by TEXT`,
} as const;

const dialects = {
  sqlite: { SERIAL: 'INTEGER PRIMARY KEY AUTOINCREMENT', INT: 'INTEGER', FLAG: 'INTEGER', TEXT: 'TEXT' },
  postgres: {
    SERIAL: 'BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
    INT: 'BIGINT',
    FLAG: 'BOOLEAN',
    TEXT: 'TEXT COLLATE "C"',
  },
} as const;

export const formerSchema = (engine: keyof typeof dialects): string[] => [
  ...Object.entries(columns).map(
    ([table, definitions]) =>
      `CREATE TABLE ${table} (${definitions.replace(/\b(?:SERIAL|INT|FLAG|TEXT)\b/g, type => dialects[engine][type as 'INT'])})`,
  ),
  'CREATE TABLE IF NOT EXISTS migrations (component TEXT PRIMARY KEY, version INTEGER NOT NULL)',
  ...new Set(Object.values(formerComponents))
    .values()
    .map(component => `INSERT INTO migrations VALUES ('${component}', 1)`),
];

export const later = Date.now() + 1e10;
export const memberCount = 250;
export const routineAt = 1_700_000_000_000;

/** As the former version wrote them; `routine` is a column of its own type on each engine. */
export function rowsOf(engine: 'sqlite' | 'postgres'): string[] {
  const [yes, no] = engine === 'sqlite' ? ['1', '0'] : ['true', 'false'];
  const account = (id: string, role: string, email: string, at: number): string =>
    `INSERT INTO accounts (id, name, role, plan, email, password_hash, created_at, suspended_at)
     VALUES ('${id}', 'name of ${id}', '${role}', 'pro', ${email}, 'hash of a password', ${at}, NULL)`;
  const members = Array.from({ length: memberCount }, (_, n) =>
    account(`acc_m${n}`, 'member', 'NULL', n + 10),
  );
  const entries = Array.from(
    { length: 1_200 },
    (
      _,
      n,
    ) => `INSERT INTO audit (at, actor_kind, account_id, key_id, action, subject_kind, subject_id, before, after, reason, routine)
      VALUES (${routineAt + n}, 'account', 'acc_1', NULL, 'action ${n}', 'link', 'code', NULL, '{"title":"x"}', 'why', ${n % 2 === 0 ? yes : no})`,
  );
  return [
    account('acc_1', 'admin', "'ada@example.com'", 1),
    ...members,
    `INSERT INTO api_keys (id, account_id, name, origin, scopes, key_hash, previous_hash, previous_until, created_at, last_used_at, expires_at, revoked_at)
     VALUES ('key_1', 'acc_1', 'ci', 'issued', 'links:read links:write', 'hash 1', 'hash 0', ${later}, 5, 6, NULL, NULL)`,
    `INSERT INTO sessions (id, account_id, token_hash, key_id, user_agent, created_at, last_seen_at, expires_at)
     VALUES ('ses_1', 'acc_1', 'token 1', 'key_1', 'Firefox', 7, 8, ${later})`,
    `INSERT INTO invitations (account_id, token_hash, expires_at) VALUES ('acc_m1', 'token 2', ${later})`,
    ...entries,
    ...Array.from(
      { length: 45 },
      (_, n) =>
        `INSERT INTO reviews (code, opened_at, place, score, held_from, reporters, appeal, appealed_at, appeals, decided_at)
         VALUES ('code${n}', ${n === 0 ? 'NULL' : 100 + n}, ${n === 0 ? 'NULL' : n}, 0, 'active', 2, 'please', 90, 1, 80)`,
    ),
    ...['a', 'b'].map(
      reporter =>
        `INSERT INTO reports (code, reporter, category, text, at, times)
         VALUES ('code7', '${reporter}', 'spam', 'by ${reporter}', ${reporter.charCodeAt(0)}, 3)`,
    ),
    ...Array.from(
      { length: 3 },
      (_, n) =>
        `INSERT INTO block_entries (id, entry, reason, added_at, added_by)
         VALUES ('blk_${n}', 'evil${n}.example', NULL, ${n}, 'acc_1')`,
    ),
  ];
}
