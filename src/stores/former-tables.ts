/**
 * At the start, imports the rows of tables that an earlier version made (accounts, keys, sessions, invitations, the
 * audit trail, reviews, reports, blocklist entries) into records; a new installation has none of them. Each page of
 * rows is one transaction with the position that it reached: a start that was interrupted continues from there, and if
 * several processes start at once, only one of them imports each page. The tables are not changed, and never read again
 * except for the audit trail: processes of the earlier version add to it until they are replaced, so every start
 * imports what was added. In Postgres an entry may become visible after later ones, so the last of them are compared
 * again. Other changes by those processes are rejected (former-fence.ts).
 */

import { blockEntryKind, blockListKey, blockListKind } from '../abuse/operator-entries.ts';
import { type Account, type ApiKey, isActiveAdmin } from '../accounts/account.ts';
import {
  accountKind,
  adminsKey,
  adminsKind,
  adminsOf,
  emailKind,
  invitationKind,
  keyKind,
  keyListKind,
  secretKind,
  sessionKind,
  sessionListKind,
} from '../accounts/account-records.ts';
import type { Session } from '../accounts/session-store.ts';
import type { Invitation } from '../accounts/store.ts';
import { auditKind } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { reportKind, reviewKind } from '../moderation/store.ts';
import {
  put,
  type RecordKind,
  type RecordStore,
  type RecordWrite,
  type Stored,
} from '../records/record-store.ts';
import {
  type AuditRow,
  accountOf,
  apiKeyOf,
  auditEntryOf,
  blockEntryOf,
  invitationOf,
  reportOf,
  reviewOf,
  sessionOf,
} from './former-rows.ts';

/** Reads of one engine; names of tables and columns are ours, values are not. */
export interface FormerTables {
  /** Whether the table exists and an earlier version made it. */
  has(table: string): Promise<boolean>;
  /** The next rows in the order of the column. */
  after(table: string, column: string, value: string | number, limit: number): Promise<unknown[]>;
  having(table: string, column: string, value: string): Promise<unknown[]>;
}

export interface Position {
  readonly table: string;
  /** The last imported row; null when all are imported. */
  readonly reached: string | number | null;
}

export const importKind: RecordKind<Position, never> = {
  name: 'import',
  key: ({ table }) => table,
  indexes: {},
};

/** The tables to import, in order. */
export const formerTables = ['accounts', 'audit', 'reviews', 'block_entries'] as const;

interface ImportedPage {
  readonly reached: Position['reached'];
  readonly writes: readonly RecordWrite[];
  /** Nothing is left after this page, although more may be added later. */
  readonly isLast?: boolean;
}

/** A conflict means that another process was first, unless the position has not changed. */
const conflictsMax = 20;

/** Imports pages until the position is null or a page is the last one. */
export async function importPages(
  records: RecordStore,
  table: string,
  nextPage: (before: Stored<Position> | undefined) => Promise<ImportedPage | undefined>,
): Promise<void> {
  let conflicts = 0;
  let version: number | undefined;
  for (;;) {
    const before = await records.get(importKind, table);
    if (before?.value.reached === null) return;
    if (before?.version !== version) conflicts = 0;
    version = before?.version;
    const page = await nextPage(before);
    if (page === undefined) return;
    const { reached, writes, isLast = false } = page;
    const outcome = await records.transact([put(importKind, { table, reached }, before), ...writes]);
    if (outcome === 'done' && isLast) return;
    if (outcome === 'conflict') conflicts += 1;
    if (conflicts === conflictsMax) {
      throw new Error(
        `${table} of an earlier version cannot be imported: there are other records in its place`,
      );
    }
  }
}

interface FormerTable {
  readonly table: string;
  readonly column: string;
  readonly first: string | number;
  readonly pageRows: number;
  /** Processes of the earlier version may add to it. */
  readonly isGrowing?: boolean;
  /** `taken`: how many of the rows the writes cover, if not all. */
  readonly writesOf: (rows: readonly unknown[]) => Promise<{ writes: RecordWrite[]; taken?: number }>;
}

export interface FormerImportOptions {
  /** How long routine entries of the audit trail are kept. */
  readonly auditDays?: number | undefined;
  readonly clock: Pick<Clock, 'now'>;
}

export async function importFormerTables(
  records: RecordStore,
  tables: FormerTables,
  { auditDays, clock }: FormerImportOptions,
): Promise<void> {
  await importTable(records, tables, accountTable(records, tables));
  await importLateEntries(records, tables, auditKind(auditDays), clock.now() - lateEntryMs);
  await importTable(records, tables, auditTable(auditDays));
  await importTable(records, tables, reviewTable(tables));
  await importTable(records, tables, blockEntryTable(records));
}

const importTable = (
  records: RecordStore,
  tables: FormerTables,
  { table, column, first, pageRows, isGrowing = false, writesOf }: FormerTable,
): Promise<void> =>
  importPages(records, table, async before => {
    // Also if there is a position: `terse migrate` copies positions but no former tables.
    if (!(await tables.has(table))) return { reached: null, writes: [] };
    const from = before?.value.reached ?? first;
    const rows = await tables.after(table, column, from, pageRows);
    if (isGrowing && rows.length === 0 && before !== undefined) return undefined;
    const { writes, taken = rows.length } = await writesOf(rows);
    const isLast = rows.length < pageRows && taken === rows.length;
    const last = (rows[taken - 1] as Record<string, string | number> | undefined)?.[column] ?? from;
    return { reached: isLast && !isGrowing ? null : last, writes, isLast };
  });

/** An account has a few hundred keys and sessions at most; a transaction ends after the accounts that reach this. */
const accountWritesMax = 1_000;
const accountsAtOnce = 10;

/** Imports each account with everything that belongs to it. */
function accountTable(records: RecordStore, tables: FormerTables): FormerTable {
  const writesOfAccount = async (account: Account): Promise<RecordWrite[]> => {
    const of = async (table: string) =>
      (await tables.has(table)) ? tables.having(table, 'account_id', account.id) : [];
    const keys = (await of('api_keys')).map(apiKeyOf);
    const sessions = (await of('sessions')).map(sessionOf);
    const invitations = (await of('invitations')).map(invitationOf);
    return [
      ...accountWrites(account, keys, sessions, invitations),
      ...keys.flatMap(keyWrites),
      ...sessions.map(sessionWrite),
    ];
  };
  return {
    table: 'accounts',
    column: 'id',
    first: '',
    pageRows: 100,
    async writesOf(rows) {
      const accounts = rows.map(accountOf);
      const writes: RecordWrite[] = [];
      let taken = 0;
      while (taken < rows.length && writes.length < accountWritesMax) {
        const some = accounts.slice(taken, taken + accountsAtOnce);
        writes.push(...(await Promise.all(some.map(writesOfAccount))).flat());
        taken += some.length;
      }
      return { writes: [...(await adminWrites(records, accounts.slice(0, taken))), ...writes], taken };
    },
  };
}

/** The account, the reservations of its unique values, and the lists of what belongs to it. */
export const accountWrites = (
  account: Account,
  keys: readonly ApiKey[],
  sessions: readonly Session[],
  invitations: readonly Invitation[],
): RecordWrite[] => [
  put(accountKind, { account, sessionEpoch: 0 }),
  ...(account.email === null ? [] : [put(emailKind, { email: account.email, accountId: account.id })]),
  put(keyListKind, { accountId: account.id, keys: keys.map(({ id }) => id) }),
  put(sessionListKind, { accountId: account.id, keys: sessions.map(({ tokenHash }) => tokenHash) }),
  ...invitations.map(invitation => put(invitationKind, invitation)),
];

export const keyWrites = (key: ApiKey): RecordWrite[] => [
  put(keyKind, { key, sessionEpoch: 0 }),
  ...[key.keyHash, key.previousHash]
    .filter(hash => hash !== null)
    .map(hash => put(secretKind, { hash, keyId: key.id, accountId: key.accountId })),
];

export const sessionWrite = (session: Session): RecordWrite =>
  put(sessionKind, { session, accountEpoch: 0, keyEpoch: session.keyId === null ? null : 0 });

/** Empty when no admin is among the accounts. */
export async function adminWrites(
  records: RecordStore,
  accounts: readonly Account[],
): Promise<RecordWrite[]> {
  const joined = accounts.filter(isActiveAdmin).map(({ id, createdAt }) => ({ id, createdAt }));
  if (joined.length === 0) return [];
  const list = await records.get(adminsKind, adminsKey);
  return [put(adminsKind, { admins: [...adminsOf(list), ...joined] }, list)];
}

const auditPageRows = 500;

const auditTable = (auditDays: number | undefined): FormerTable => ({
  table: 'audit',
  column: 'seq',
  first: 0,
  pageRows: auditPageRows,
  isGrowing: true,
  writesOf: async rows => ({
    writes: rows.map(row => put(auditKind(auditDays), auditEntryOf(row as AuditRow))),
  }),
});

/** More than the number of entries that concurrent transactions can add. */
const lateEntriesMax = 10_000;
/** Longer than a transaction lasts, and than it takes to replace all processes of the earlier version. */
const lateEntryMs = 24 * 60 * 60 * 1_000;

/** Imports entries at or before the position that an earlier start did not see. */
async function importLateEntries(
  records: RecordStore,
  tables: FormerTables,
  kind: ReturnType<typeof auditKind>,
  fromMs: number,
): Promise<void> {
  const position = await records.get(importKind, 'audit');
  if (position === undefined || position.value.reached === null || !(await tables.has('audit'))) return;
  const reached = Number(position.value.reached);
  const read = async (after: number, limit: number) =>
    (await tables.after('audit', 'seq', after, limit)) as AuditRow[];
  const [newest] = await read(reached - 1, 1);
  if (newest === undefined || newest.at < fromMs) return;
  for (let after = Math.max(0, reached - lateEntriesMax), conflicts = 0; after < reached; ) {
    const rows = (await read(after, auditPageRows)).filter(({ seq }) => seq <= reached);
    const entries = rows.filter(({ at }) => at >= fromMs).map(auditEntryOf);
    const known = await records.getMany(
      kind,
      entries.map(({ id }) => id),
    );
    const late = entries.filter((_, index) => known[index] === undefined);
    const outcome = late.length === 0 ? 'done' : await records.transact(late.map(entry => put(kind, entry)));
    // Another starting process has imported some of them.
    if (outcome === 'conflict') conflicts += 1;
    else after = rows.at(-1)?.seq ?? reached;
    if (conflicts === conflictsMax) throw new Error('late entries of the audit trail cannot be imported');
  }
}

/** Imports each review with the reports about its link. */
const reviewTable = (tables: FormerTables): FormerTable => ({
  table: 'reviews',
  column: 'code',
  first: '',
  pageRows: 20,
  async writesOf(rows) {
    const writes: RecordWrite[] = [];
    for (const review of rows.map(reviewOf)) {
      const reports = (await tables.having('reports', 'code', review.code)).map(reportOf);
      writes.push(put(reviewKind, { ...review, reportsKept: reports.length }));
      writes.push(...reports.map(report => put(reportKind, report)));
    }
    return { writes };
  },
});

const blockEntryTable = (records: RecordStore): FormerTable => ({
  table: 'block_entries',
  column: 'seq',
  first: 0,
  pageRows: 500,
  async writesOf(rows) {
    if (rows.length === 0) return { writes: [] };
    const list = await records.get(blockListKind, blockListKey);
    const count = (list?.value.count ?? 0) + rows.length;
    const entries = rows.map(blockEntryOf);
    const state = put(blockListKind, { revision: entries.at(-1)!.seq, count }, list);
    return { writes: [state, ...entries.map(entry => put(blockEntryKind, entry))] };
  },
});
