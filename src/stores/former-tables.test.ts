/** Installations made by the version before records: everything in them is found by this one. */

import { afterAll, describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeWithEngine } from '../../test/kit/engines/describe-with-engine.ts';
import { sharedPostgres } from '../../test/kit/engines/postgres.ts';
import { patientClock } from '../../test/kit/patient-clock.ts';
import { until } from '../../test/kit/until.ts';
import { emailKind, keyKind } from '../accounts/account-records.ts';
import { auditIdOfNumber, auditKind, everythingAbout } from '../audit/audit-log.ts';
import { systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { loadConfig } from '../config/config.ts';
import { runMigrations } from '../engines/postgres/migrations.ts';
import { openPostgres } from '../engines/postgres/postgres.ts';
import { openForWriting } from '../engines/sqlite/database.ts';
import { migrate } from '../engines/sqlite/migrations.ts';
import { isInUse } from '../engines/sqlite/snapshot.ts';
import { createMemoryRecords } from '../records/drivers/memory.ts';
import { put, type RecordWrite } from '../records/record-store.ts';
import { createLog } from '../telemetry/log.ts';
import { embeddedMigrations } from './embedded.ts';
import { formerSchema, later, memberCount, routineAt, rowsOf } from './fake-former-schema.ts';
import { type FormerTables, importFormerTables, importKind } from './former-tables.ts';
import { postgresMigrations } from './postgres.ts';
import { openStores, type Stores } from './stores.ts';

const auditDays = 3_650;

async function expectEverything({ accounts, audit, reviews, blockEntries }: Stores): Promise<void> {
  const queue = await reviews.queue({ limit: 100, cursor: undefined });
  expect(queue.reviews.map(({ code }) => code)).toEqual(Array.from({ length: 44 }, (_, n) => `code${n + 1}`));
  const review = { heldFrom: 'active', reporters: 2, appeal: { at: 90, text: 'please' }, decidedAt: 80 };
  expect(await reviews.find('code7')).toMatchObject({ ...review, openedAt: 107, appeals: 1 });
  expect(await reviews.find('code0')).toMatchObject({ ...review, openedAt: null });
  expect(await reviews.reports('code7')).toEqual([
    { code: 'code7', category: 'spam', text: 'by a', at: 97, times: 3 },
    { code: 'code7', category: 'spam', text: 'by b', at: 98, times: 3 },
  ]);
  expect((await blockEntries.list()).map(({ entry }) => entry)).toEqual([
    'evil0.example',
    'evil1.example',
    'evil2.example',
  ]);
  const entry = { id: 'blk_new', entry: 'new.example', reason: null, addedAt: 9, addedBy: null };
  const change = { at: 9, actor: { kind: 'system', accountId: null, keyId: null } } as const;
  expect(await blockEntries.add({ ...entry, id: 'blk_1' }, change)).toBe('exists');
  const ids: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await accounts.listAccounts({ limit: 100, cursor });
    ids.push(...page.accounts.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(ids).toEqual(['acc_1', ...Array.from({ length: memberCount }, (_, n) => `acc_m${n}`)]);
  const key = {
    id: 'key_1',
    accountId: 'acc_1',
    name: 'ci',
    origin: 'issued',
    scopes: ['links:read', 'links:write'],
    keyHash: 'hash 1',
    previousHash: 'hash 0',
    previousUntil: later,
    createdAt: 5,
    lastUsedAt: 6,
    expiresAt: null,
    revokedAt: null,
  };
  for (const hash of ['hash 0', 'hash 1']) {
    expect(await accounts.findByKeyHash(hash)).toMatchObject({ account: { id: 'acc_1', plan: 'pro' }, key });
  }
  expect(await accounts.listKeys('acc_1')).toHaveLength(1);
  expect((await accounts.findAccountByEmail('ada@example.com'))?.passwordHash).toBe('hash of a password');
  expect((await accounts.findSession('token 1'))?.key?.id).toBe('key_1');
  expect((await accounts.listSessions('acc_1')).map(({ id }) => id)).toEqual(['ses_1']);
  expect((await accounts.findInvitation('token 2'))?.account.id).toBe('acc_m1');
  const note = {
    at: 1,
    actor: { kind: 'system', accountId: null, keyId: null },
    action: 'x',
    reason: null,
  } as const;
  expect(await accounts.changeAccount('acc_1', { role: 'member' }, note)).toEqual({ kind: 'last_admin' });
  const actions: string[] = [];
  do {
    const about = {
      subjectKinds: ['link'],
      subjectId: 'code',
      accountId: undefined,
      action: undefined,
    } as const;
    const page = await audit.query({ ...about, limit: 500, cursor, fromMs: undefined, toMs: undefined });
    actions.push(...page.entries.map(({ action }) => action));
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  expect(actions).toEqual(Array.from({ length: 1_200 }, (_, n) => `action ${1_199 - n}`));
}

const log = createLog({ level: 'silent', clock: systemClock, write: () => undefined });
const options = { clock: patientClock, random: systemRandom, log };
const configOf = (...argv: string[]) =>
  loadConfig({ argv: [...argv, '--audit-days', String(auditDays)], env: {}, readFile: () => '{}' });

const isFormer = ({ component }: { readonly component: string }): boolean => component === 'links';

/** What a process of the earlier version, still running, can and cannot do after the import. */
async function expectFenced(run: (statement: string) => Promise<unknown>): Promise<void> {
  const setClauses = {
    accounts: "name = 'new'",
    api_keys: 'revoked_at = 9',
    sessions: 'expires_at = 9',
    invitations: 'expires_at = 9',
    reviews: 'score = 9',
    reports: 'times = 9',
    block_entries: "reason = 'new'",
  };
  for (const [table, setClause] of Object.entries(setClauses)) {
    const inserted = table === 'block_entries' ? "(id, entry, added_at) VALUES ('x', 'x', 1)" : undefined;
    const statements = [
      `UPDATE ${table} SET ${setClause}`,
      `DELETE FROM ${table}`,
      `INSERT INTO ${table} ${inserted ?? `SELECT * FROM ${table}`}`,
    ];
    for (const statement of statements) {
      const outcome = await run(statement).then(
        () => 'done',
        error => `${error} ${(error as Error).cause}`,
      );
      expect({ statement, outcome }).toEqual({
        statement,
        outcome: expect.stringContaining('a newer version of Terse has taken over this table'),
      });
    }
  }
  // Accepted, because requests that change something else write these too.
  await run('UPDATE api_keys SET last_used_at = 9');
  await run('UPDATE sessions SET last_seen_at = 9');
  await run(
    `INSERT INTO audit (at, actor_kind, action, subject_kind, subject_id)
     VALUES (1800000000000, 'system', 'added later', 'link', 'code')`,
  );
}

async function expectAdded({ audit, records }: Stores): Promise<void> {
  const about = {
    subjectKinds: ['link'],
    subjectId: 'code',
    accountId: undefined,
    action: undefined,
  } as const;
  const page = { limit: 2, cursor: undefined, fromMs: undefined, toMs: undefined };
  const { entries } = await audit.query({ ...about, ...page });
  expect(entries.map(({ action }) => action)).toEqual(['added later', 'action 1199']);
  const routine = await records.get(auditKind(), auditIdOfNumber(routineAt, 1));
  expect(routine?.expiresAt).toBe(routineAt + auditDays * 24 * 60 * 60 * 1_000);
}

test('an import that cannot continue fails and names the table', async () => {
  const records = createMemoryRecords(systemClock);
  await records.transact([put(emailKind, { email: 'ada@example.com', accountId: 'another' })]);
  const row = {
    id: 'acc_1',
    name: 'n',
    role: 'member',
    plan: 'free',
    email: 'ada@example.com',
    created_at: 1,
  };
  const tables = { has: async () => true, after: async () => [row], having: async () => [] };
  await expect(importFormerTables(records, tables, { clock: systemClock })).rejects.toThrow(
    'accounts of an earlier version',
  );
});

test('accounts with many keys are imported in transactions of a bounded size', async () => {
  const records = createMemoryRecords(systemClock);
  const sizes: number[] = [];
  const watched = {
    ...records,
    transact(writes: readonly RecordWrite[]) {
      sizes.push(writes.length);
      return records.transact(writes);
    },
  };
  const accounts = Array.from({ length: 120 }, (_, n) => ({
    id: `acc_${String(n).padStart(3, '0')}`,
    name: 'n',
    role: 'member',
    plan: 'free',
    email: null,
    created_at: n,
  }));
  const keys = (id: string) =>
    Array.from({ length: 100 }, (_, n) => ({
      id: `key_${id}_${n}`,
      account_id: id,
      scopes: 'links:read',
      key_hash: `hash of ${id} ${n}`,
      previous_hash: null,
    }));
  const tables: FormerTables = {
    has: async () => true,
    after: async (table, _column, value, limit) =>
      table === 'accounts' ? accounts.filter(({ id }) => id > value).slice(0, limit) : [],
    having: async (table, _column, id) => (table === 'api_keys' ? keys(id) : []),
  };
  await importFormerTables(watched, tables, { clock: systemClock });
  expect(Math.max(...sizes)).toBeLessThan(4_000);
  const imported = await records.getMany(
    keyKind,
    accounts.map(({ id }) => `key_${id}_99`),
  );
  expect(imported.every(key => key !== undefined)).toBe(true);
});

const folders: string[] = [];
afterAll(() => folders.forEach(folder => void rmSync(folder, { recursive: true, force: true })));
const freshFolder = (): string => folders[folders.push(mkdtempSync(join(tmpdir(), 'terse-former-'))) - 1]!;

describe('an installation of the version before', () => {
  test('in SQLite is found whole, however many processes start on it at once', async () => {
    const data = freshFolder();
    const database = openForWriting(join(data, 'terse.db'));
    database.run('PRAGMA busy_timeout = 5000');
    for (const set of embeddedMigrations.filter(isFormer)) migrate(database, set);
    const statements = [...formerSchema('sqlite'), ...rowsOf('sqlite')];
    database.transaction(() => statements.forEach(statement => void database.run(statement)))();
    const config = configOf('--data', data);
    const opened = await Promise.all([1, 2, 3].map(() => openStores(config, options)));
    for (const stores of opened) await expectEverything(stores);
    for (const { links } of opened) await links.close();

    await expectFenced(async statement => void database.run(statement));
    const again = await openStores(config, options);
    await expectAdded(again);
    await again.links.close();
    database.close();
  });

  test('of the very first version is found whole', async () => {
    const data = freshFolder();
    const database = openForWriting(join(data, 'terse.db'));
    for (const statement of [
      'CREATE TABLE accounts (id TEXT PRIMARY KEY, name TEXT, is_admin INTEGER, created_at INTEGER)',
      `CREATE TABLE api_keys (id TEXT PRIMARY KEY, account_id TEXT, name TEXT, key_hash TEXT, created_at INTEGER,
        last_used_at INTEGER, revoked_at INTEGER)`,
      "INSERT INTO accounts VALUES ('acc_1', 'admin', 1, 1), ('acc_2', 'member', 0, 2)",
      "INSERT INTO api_keys VALUES ('key_1', 'acc_1', 'ci', 'hash 1', 3, NULL, NULL)",
    ])
      database.run(statement);
    database.close();
    const { accounts, records, links } = await openStores(configOf('--data', data), options);
    const page = await accounts.listAccounts({ limit: 10, cursor: undefined });
    expect(page.accounts.map(({ role, plan, email }) => [role, plan, email])).toEqual([
      ['admin', 'unlimited', null],
      ['member', 'free', null],
    ]);
    const found = await records.get(keyKind, 'key_1');
    expect(found?.value.key).toMatchObject({ accountId: 'acc_1', origin: 'issued', revokedAt: null });
    expect(found?.value.key.scopes).toContain('admin');
    await links.close();
  });

  test('is not looked for where positions were copied without its tables', async () => {
    const data = freshFolder();
    const config = configOf('--data', data);
    const target = await openStores(config, options);
    const position = (await target.records.get(importKind, 'audit'))!;
    await target.records.transact([put(importKind, { table: 'audit', reached: 7 }, position)]);
    await target.links.close();
    const opened = await openStores(config, options);
    expect((await opened.records.get(importKind, 'audit'))?.value.reached).toBeNull();
    await opened.links.close();
  });

  test('closes its store when it cannot be imported', async () => {
    const data = freshFolder();
    const config = configOf('--data', data);
    const database = openForWriting(join(data, 'terse.db'));
    for (const statement of formerSchema('sqlite')) database.run(statement);
    database.run(
      `INSERT INTO audit (at, actor_kind, action, subject_kind, subject_id, before) VALUES (1, 'x', 'x', 'x', 'x', '{')`,
    );
    database.close();
    await expect(openStores(config, options)).rejects.toThrow('JSON');
    await until('the database is closed', () => !isInUse(join(data, 'terse.db')));
  });
});

describeWithEngine('postgres', 'an installation of the version before in Postgres', () => {
  test('is found whole, however many processes start on it at once', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const postgres = openPostgres(links, { clock: patientClock });
    await runMigrations(postgres, postgresMigrations.filter(isFormer));
    for (const row of [...formerSchema('postgres'), ...rowsOf('postgres')]) await postgres.query(row);
    const config = configOf('--links', links);
    const opened = await Promise.all([1, 2, 3].map(() => openStores(config, options)));
    for (const stores of opened) await expectEverything(stores);
    for (const stores of opened) await stores.links.close();

    await expectFenced(statement => postgres.query(statement));
    await postgres.close();
    const again = await openStores(config, options);
    await expectAdded(again);
    await again.links.close();
  });

  test('is not confused with tables of somebody else', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const postgres = openPostgres(links, { clock: patientClock });
    await postgres.query('CREATE TABLE accounts (id TEXT PRIMARY KEY, role TEXT)');
    await postgres.query("INSERT INTO accounts VALUES ('theirs', 'admin')");
    const stores = await openStores(configOf('--links', links), options);
    expect((await stores.accounts.listAccounts({ limit: 10, cursor: undefined })).accounts).toEqual([]);
    await postgres.query("INSERT INTO accounts VALUES ('new', 'admin')");
    await postgres.query('DELETE FROM accounts');
    await stores.links.close();
    await postgres.close();
  });

  test('has its audit entries imported that were committed after later ones', async () => {
    const links = await (await sharedPostgres()).freshDatabase();
    const postgres = openPostgres(links, { clock: patientClock });
    await runMigrations(postgres, postgresMigrations.filter(isFormer));
    for (const statement of formerSchema('postgres')) await postgres.query(statement);
    const entry = (action: string, at = Date.now()): string =>
      `INSERT INTO audit (at, actor_kind, action, subject_kind, subject_id)
       VALUES (${at}, 'system', '${action}', 'link', 'code')`;
    const config = configOf('--links', links);
    const actions = async (): Promise<string[]> => {
      const stores = await Promise.all([1, 2].map(() => openStores(config, options)));
      const about = everythingAbout({ kind: 'link', id: 'code' }, { limit: 10, cursor: undefined });
      const { entries } = await stores[0]!.audit.query(about);
      for (const each of stores) await each.links.close();
      return entries.map(({ action }) => action).sort();
    };
    const [begun, committed] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const late = postgres.transaction(async tx => {
      await tx.query(entry('late'));
      begun.resolve();
      await committed.promise;
    });
    await begun.promise;
    await postgres.query(entry('early'));
    expect(await actions()).toEqual(['early']);
    committed.resolve();
    await late;
    expect(await actions()).toEqual(['early', 'late']);
    expect(await actions()).toEqual(['early', 'late']);
    await postgres.close();
  });
});
