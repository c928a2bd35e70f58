/**
 * Imports the items that an earlier version kept in DynamoDB (accounts, keys, sessions, invitations, the audit log,
 * blocklist entries, waiting reviews) into records. Decided reviews can only be found by walking the whole table, which
 * `terse setup` does. The keys and sessions of an account are written before it, in separate transactions that may be
 * repeated; the account and the new position are one transaction, as in former-tables.ts.
 */
import {
  blockEntryKind,
  blockListKey,
  blockListKind,
  type OperatorEntry,
} from '../abuse/operator-entries.ts';
import type { Account, ApiKey } from '../accounts/account.ts';
import type { Session } from '../accounts/session-store.ts';
import type { Invitation } from '../accounts/store.ts';
import type { AuditEntry } from '../audit/audit-entry.ts';
import { auditKind } from '../audit/audit-log.ts';
import type { Dynamo } from '../engines/dynamodb/dynamodb.ts';
import type { Key } from '../engines/dynamodb/expressions.ts';
import { partitionOf, type StartKey } from '../engines/dynamodb/queries.ts';
import { TableWalk } from '../engines/dynamodb/table-walk.ts';
import type { Review } from '../moderation/review.ts';
import { type Report, reportKind, reportsKeptMax, reviewKind } from '../moderation/store.ts';
import { check, put, type RecordStore, type RecordWrite } from '../records/record-store.ts';
import {
  accountWrites,
  adminWrites,
  formerTables,
  importKind,
  importPages,
  keyWrites,
  sessionWrite,
} from './former-tables.ts';

interface Recorded<Value> extends Key {
  readonly record: Value;
}

const pageItems = 20;
const walkedItems = 200;
const entryPrefix = 'entry#';
const reportPrefix = 'report#';
/** Everything to import until all former items are records. */
export const formerItems = [...formerTables, 'all reviews'] as const;
const reviewWalk = formerItems.at(-1)!;
const reviewPart = { part: 'reviews', prefix: 'review#' };

/** `auditDays`: how long routine entries of the audit log are kept. */
export async function importFormerItems(
  records: RecordStore,
  dynamo: Dynamo,
  auditDays: number | undefined,
): Promise<void> {
  await noteNewTable(records, dynamo);
  await importItems(records, 'accounts', async (reached, isHere) => {
    const page = await dynamo.query<Key & { readonly accountId: string }>({
      pk: 'accounts',
      limit: 1,
      ...(reached === undefined ? {} : { range: { above: reached } }),
    });
    const [place] = page.items;
    if (place === undefined) return undefined;
    return { reached: place.sk, writes: await importAccount(records, dynamo, place.accountId, isHere) };
  });
  await importItems(records, 'audit', async reached => {
    const day = await nextDay(dynamo, reached);
    if (day === undefined) return reached === undefined ? undefined : 'later';
    const { items } = await dynamo.query<Key & { readonly entry: string }>({
      pk: day,
      index: 'audit-by-day',
      limit: pageItems,
      ...(reached === undefined ? {} : { range: { above: reached } }),
    });
    if (items.length === 0 && (await nextDay(dynamo, lastIdOf(day))) === undefined) return 'later';
    // An empty day is passed by its last possible id.
    const writes = items.map(({ sk, entry }) =>
      put(auditKind(auditDays), { id: sk, isRoutine: false, ...JSON.parse(entry) } as AuditEntry),
    );
    return { reached: items.at(-1)?.sk ?? lastIdOf(day), writes };
  });
  await importItems(records, 'block_entries', reached => pageOfEntries(records, dynamo, reached));
  await importItems(records, 'reviews', async reached => {
    const { items } = await dynamo.query<Recorded<{ readonly code: string }>>({
      pk: 'review-queue',
      limit: 1,
      ...(reached === undefined ? {} : { range: { above: reached } }),
    });
    const [place] = items;
    if (place === undefined) return undefined;
    return { reached: place.sk, writes: await importReview(records, dynamo, place.record.code) };
  });
}

async function pageOfEntries(records: RecordStore, dynamo: Dynamo, reached: string | undefined) {
  const { items } = await dynamo.query<Recorded<OperatorEntry> & { readonly addition: number }>({
    pk: 'block-entries',
    limit: pageItems,
    range: reached === undefined ? { prefix: entryPrefix } : { above: reached },
  });
  const entries = items.filter(({ sk }) => sk.startsWith(entryPrefix));
  if (entries.length === 0) return undefined;
  const list = await records.get(blockListKind, blockListKey);
  const { revision, count } = list?.value ?? { revision: 0, count: 0 };
  const state = {
    revision: Math.max(revision, ...entries.map(({ addition }) => addition)),
    count: count + entries.length,
  };
  const writes = entries.map(({ record, addition }) => put(blockEntryKind, { ...record, seq: addition }));
  return { reached: entries.at(-1)!.sk, writes: [put(blockListKind, state, list), ...writes] };
}

/** Writes each report in a separate transaction; one that was imported already conflicts with itself and stays. */
async function importReview(records: RecordStore, dynamo: Dynamo, code: string): Promise<RecordWrite[]> {
  const pk = partitionOf('review', code);
  const found = await dynamo.get<Recorded<Review>>({ pk, sk: 'review' });
  if (found === undefined || (await records.get(reviewKind, code)) !== undefined) return [];
  const { items } = await dynamo.query<Recorded<Report> & { readonly times: number }>({
    pk,
    range: { prefix: reportPrefix },
    limit: reportsKeptMax,
  });
  for (const { sk, times, record } of items) {
    const reporter = sk.slice(reportPrefix.length);
    await records.transact([put(reportKind, { ...record, reporter, times })]);
  }
  return [put(reviewKind, { ...found.record, reportsKept: items.length })];
}

/** Imports all reviews by walking the whole table; those that are records already are not changed. */
export async function importAllReviews(records: RecordStore, dynamo: Dynamo): Promise<number> {
  const before = await records.get(importKind, reviewWalk);
  if (before?.value.reached === null) return 0;
  const walk = new TableWalk(dynamo);
  let imported = 0;
  let cursor: string | undefined;
  do {
    const page = await walk.rarePage<Recorded<Review>>(reviewPart, cursor, walkedItems);
    for (const { sk, record } of page.items) {
      if (sk !== 'review') continue;
      const writes = await importReview(records, dynamo, record.code);
      if (writes.length > 0 && (await records.transact(writes)) === 'done') imported += 1;
    }
    cursor = page.next;
  } while (cursor !== undefined);
  await records.transact([put(importKind, { table: reviewWalk, reached: null }, before)]);
  return imported;
}

/** `isHere`: the position is still the one that was read. `later`: nothing is left now, but more may be added. */
const importItems = (
  records: RecordStore,
  table: string,
  nextPage: (
    reached: string | undefined,
    isHere: RecordWrite,
  ) => Promise<{ reached: string; writes: RecordWrite[] } | 'later' | undefined>,
): Promise<void> =>
  importPages(records, table, async before => {
    const reached = before === undefined ? undefined : String(before.value.reached);
    const page = await nextPage(reached, check(importKind, table, before));
    return page === 'later' ? undefined : (page ?? { reached: null, writes: [] });
  });

/** A table without an account of an earlier version has no other items of one, so its reviews need no walk. */
async function noteNewTable(records: RecordStore, dynamo: Dynamo): Promise<void> {
  if ((await records.get(importKind, 'accounts')) !== undefined) return;
  const { items } = await dynamo.query<Key>({ pk: 'accounts', limit: 1 });
  if (items.length === 0) await records.transact([put(importKind, { table: reviewWalk, reached: null })]);
}

/** Writes only while the position is unchanged: a process that lags behind would restore what was removed since. */
async function importAccount(
  records: RecordStore,
  dynamo: Dynamo,
  id: string,
  isHere: RecordWrite,
): Promise<RecordWrite[]> {
  const pk = partitionOf('account', id);
  const [found, sessionsItem, invitation] = await Promise.all([
    dynamo.get<Recorded<Account>>({ pk, sk: 'account' }),
    dynamo.get<Key & { readonly sessions: string }>({ pk, sk: 'sessions' }),
    dynamo.get<Recorded<Invitation>>({ pk, sk: 'invitation' }),
  ]);
  if (found === undefined) return [];
  const keys = await keysOf(dynamo, pk);
  const sessions = JSON.parse(sessionsItem?.sessions ?? '[]') as Session[];
  // One that was imported already conflicts with itself and stays.
  for (const key of keys) await records.transact([isHere, ...keyWrites(key)]);
  for (const session of sessions) await records.transact([isHere, sessionWrite(session)]);
  return [
    ...accountWrites(found.record, keys, sessions, invitation === undefined ? [] : [invitation.record]),
    ...(await adminWrites(records, [found.record])),
  ];
}

async function keysOf(dynamo: Dynamo, pk: string): Promise<ApiKey[]> {
  const keys: ApiKey[] = [];
  let start: StartKey | undefined;
  do {
    const page = await dynamo.query<Recorded<ApiKey>>({ pk, range: { prefix: 'key#' }, start });
    keys.push(...page.items.map(({ record }) => record));
    start = page.next;
  } while (start !== undefined);
  return keys;
}

/** The day of the reached id, or the first day after it if that one is finished. */
async function nextDay(dynamo: Dynamo, reached: string | undefined): Promise<string | undefined> {
  const from = reached === undefined ? undefined : dayOf(reached);
  const isOver = reached !== undefined && from !== undefined && reached === lastIdOf(from);
  const range = from === undefined ? {} : { range: isOver ? { above: from } : { from } };
  const { items } = await dynamo.query<Key>({ pk: 'audit-days', limit: 1, ...range });
  return items[0]?.sk;
}

const timeLength = 9;
const idLength = 20;
const dayMs = 24 * 60 * 60 * 1_000;

const dayOf = (id: string): string =>
  new Date(Number.parseInt(id.slice(0, timeLength), 36)).toISOString().slice(0, 10);

const lastIdOf = (day: string): string =>
  (Date.parse(day) + dayMs - 1).toString(36).padStart(timeLength, '0') + 'z'.repeat(idLength - timeLength);
