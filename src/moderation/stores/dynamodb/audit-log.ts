/**
 * Reading the audit trail of DynamoDB, newest first: the partition of a subject, the index of an author, or day by day
 * for everything else. A call looks at a bounded number of entries and days: a search for something rare returns a
 * short page and a cursor, which is the id that the walk has come to.
 */
import { invariant, Problem } from '../../../base/errors.ts';
import { inParallel } from '../../../base/in-parallel.ts';
import {
  type AuditItem,
  type AuditItems,
  auditAccountOf,
  auditDayOf,
  auditDays,
  auditEntryOf,
  auditOfSubject,
  auditSlackMs,
  highestAuditId,
  isAuditId,
  lowestAuditId,
} from '../../../engines/dynamodb/audit-items.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { Key } from '../../../engines/dynamodb/expressions.ts';
import type { Query } from '../../../engines/dynamodb/queries.ts';
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../audit.ts';
import { isMatch } from '../../audit-match.ts';

const examinedMax = 2_000;
const daysMax = 31;
const dayMs = 24 * 60 * 60 * 1_000;
/** As many as fit into a transaction of every version of DynamoDB. */
const recordsPerWrite = 10;
const writesAtOnce = 8;

type Source = Pick<Query, 'pk' | 'index'>;

/** How far a query has come. */
interface Walk {
  readonly query: AuditQuery;
  /** One more than is asked for tells that there is more. */
  readonly found: AuditEntry[];
  examined: number;
  /** It goes on below this id. */
  before: string;
}

export function createDynamoAuditLog(dynamo: Dynamo, auditItems: AuditItems): AuditLog {
  return {
    async append(records) {
      const items = await auditItems.itemsOf(records);
      await inParallel(Math.ceil(items.length / recordsPerWrite), writesAtOnce, async write => {
        const from = write * recordsPerWrite;
        const { kind } = await dynamo.transact(items.slice(from, from + recordsPerWrite));
        invariant(kind === 'done', 'no two audit entries have the same id');
      });
    },

    /** Routine entries carry the time at which the engine drops them. */
    forget: async () => 0,

    async query(query): Promise<AuditPage> {
      const walk: Walk = { query, found: [], examined: 0, before: startOf(query) };
      const source = sourceOf(query);
      const atEnd = await (source === undefined ? walkDays(dynamo, walk) : walkThrough(dynamo, walk, source));
      const entries = walk.found.slice(0, query.limit);
      if (walk.found.length > query.limit) return { entries, nextCursor: entries.at(-1)!.id };
      return { entries, nextCursor: atEnd ? undefined : walk.before };
    },
  };
}

/** Where the entries lie that can match; undefined for all over the days. */
function sourceOf({ subjectKinds, subjectId, accountId }: AuditQuery): Source | undefined {
  const [kind, ...otherKinds] = subjectKinds ?? [];
  if (subjectId !== undefined && kind !== undefined && otherKinds.length === 0) {
    return { pk: auditOfSubject(kind, subjectId) };
  }
  return accountId === undefined ? undefined : { pk: auditAccountOf(accountId), index: 'audit-by-account' };
}

/** An id is never before its entry's time and not long after it, so a time that is asked for bounds the walk. */
function startOf({ cursor, toMs }: AuditQuery): string {
  if (cursor === undefined) return toMs === undefined ? highestAuditId : lowestAuditId(toMs + auditSlackMs);
  if (isAuditId(cursor)) return cursor;
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}

function endOf({ fromMs }: AuditQuery): string {
  return lowestAuditId(fromMs ?? 0);
}

/** True when nothing is left there to look at; false when the walk has seen as much as one call may. */
async function walkThrough(dynamo: Dynamo, walk: Walk, source: Source): Promise<boolean> {
  const { query, found } = walk;
  for (;;) {
    const allowed = examinedMax - walk.examined;
    const wanted = query.limit + 1 - found.length;
    if (allowed <= 0 || wanted <= 0) return false;
    const limit = isFiltered(query) ? allowed : Math.min(allowed, wanted);
    const range = { below: walk.before };
    const { items, next } = await dynamo.query<AuditItem>({ ...source, range, descending: true, limit });
    for (const entry of items.map(auditEntryOf)) {
      if (entry.id < endOf(query)) return true;
      if (isMatch(entry, query)) found.push(entry);
      if (found.length > query.limit) return false;
      walk.before = entry.id;
      walk.examined += 1;
    }
    if (next === undefined) return true;
  }
}

async function walkDays(dynamo: Dynamo, walk: Walk): Promise<boolean> {
  // A tilde is behind every digit, so the day that the walk is on counts as before this.
  const range = { below: `${auditDayOf(walk.before)}~` };
  const days = await dynamo.query<Key>({ pk: auditDays, range, descending: true, limit: daysMax });
  for (const { sk: day } of days.items) {
    const startMs = Date.parse(day);
    if (lowestAuditId(startMs + dayMs) <= endOf(walk.query)) return true;
    const source = { pk: day, index: 'audit-by-day' } as const;
    if (!(await walkThrough(dynamo, walk, source))) return false;
    walk.before = lowestAuditId(startMs);
  }
  return days.next === undefined;
}

/** Whether entries of the source may have to be passed over. */
function isFiltered({ subjectKinds, accountId, action, fromMs, toMs }: AuditQuery): boolean {
  return [subjectKinds, accountId, action, fromMs, toMs].some(each => each !== undefined);
}
