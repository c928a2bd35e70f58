/**
 * Reading the audit trail of the embedded database. A query walks one index from the cursor on, newest first, and looks
 * at a bounded window of entries: a search for something rare returns a short page and a cursor.
 */
import type { Database } from 'bun:sqlite';
import { type AuditRow, auditEntryOf } from '../../../engines/sqlite/audit-table.ts';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import type { AuditLog, AuditQuery } from '../../audit.ts';
import { auditSeqOf } from '../../audit-cursor.ts';
import type { ModerationOperations } from './operations.ts';

const windowRowsMax = 2_000;
/** The order of writing follows the clock but for this much, should the clock have been set. */
const clockSlackMs = 24 * 60 * 60 * 1_000;

type Bindings = Record<string, string | number>;

interface Place {
  readonly at: number;
  readonly seq: number;
}

export function createSqliteAuditLog(reader: Database, writer: SqliteWriter<ModerationOperations>): AuditLog {
  const old = reader.query<Place & { routine: number }, [number, number, number, number]>(`
    SELECT at, seq, routine FROM audit INDEXED BY audit_by_time
    WHERE (at, seq) > (?, ?) AND at < ? ORDER BY at, seq LIMIT ?`);
  let forgottenTo: Place = { at: -1, seq: 0 };
  return {
    async forget(before, limit) {
      const rows = old.all(forgottenTo.at, forgottenTo.seq, before, limit);
      const routine = rows.filter(row => row.routine === 1).map(({ seq }) => seq);
      if (routine.length > 0) await writer.run('forgetAudit', routine, routine.length);
      forgottenTo = rows.at(-1) ?? forgottenTo;
      return rows.length;
    },
    append: records => writer.run('appendAudit', records, records.length),
    async query(query) {
      const bindings: Bindings = { before: firstSeqAfter(reader, query), limit: query.limit };
      const { source, where, filters } = planOf(query, bindings);
      const windowRows = filters.length === 0 ? query.limit + 1 : windowRowsMax;
      const window = `SELECT * FROM ${source} WHERE ${[...where, 'seq < $before'].join(' AND ')}
        ORDER BY seq DESC LIMIT ${windowRows}`;
      const rows = reader
        .query<AuditRow, [Bindings]>(
          `SELECT * FROM (${window}) ${filters.length === 0 ? '' : `WHERE ${filters.join(' AND ')}`}
           ORDER BY seq DESC LIMIT $limit + 1`,
        )
        .all(bindings);
      const entries = rows.slice(0, query.limit).map(auditEntryOf);
      if (rows.length > query.limit) return { entries, nextCursor: entries.at(-1)!.id };
      const end = reader
        .query<{ seq: number; at: number; seen: number }, [Bindings]>(
          `SELECT min(seq) AS seq, max(at) AS at, count(*) AS seen FROM (${window})`,
        )
        .get(bindings)!;
      const isPast = query.fromMs !== undefined && end.at < query.fromMs - clockSlackMs;
      const more = end.seen === windowRows && !isPast;
      return { entries, nextCursor: more ? end.seq.toString(36) : undefined };
    },
  };
}

/** Entries younger than what is asked for are not walked through. */
function firstSeqAfter(reader: Database, { cursor, toMs }: AuditQuery): number {
  if (cursor !== undefined) return auditSeqOf(cursor);
  if (toMs === undefined) return Number.MAX_SAFE_INTEGER;
  const later = reader
    .query<{ seq: number }, [number]>('SELECT seq FROM audit WHERE at >= ? ORDER BY at, seq LIMIT 1')
    .get(toMs + clockSlackMs);
  return later?.seq ?? Number.MAX_SAFE_INTEGER;
}

interface Plan {
  readonly source: string;
  /** Served by the index. */
  readonly where: string[];
  /** Applied to what the window holds. */
  readonly filters: string[];
}

function planOf(query: AuditQuery, bindings: Bindings): Plan {
  const filters: string[] = [];
  const filter = (name: string, condition: string, value: string | number | undefined): void => {
    if (value === undefined) return;
    bindings[name] = value;
    filters.push(condition);
  };
  filter('action', 'action = $action', query.action);
  filter('from', 'at >= $from', query.fromMs);
  filter('to', 'at < $to', query.toMs);
  const { subjectKinds, subjectId, accountId } = query;
  const [kind] = subjectKinds ?? [];
  if (subjectId !== undefined && kind !== undefined && subjectKinds?.length === 1) {
    filter('account', 'account_id = $account', accountId);
    bindings.kind = kind;
    bindings.id = subjectId;
    const where = ['subject_kind = $kind', 'subject_id = $id'];
    return { source: 'audit INDEXED BY audit_by_subject', where, filters };
  }
  if (subjectKinds !== undefined) {
    // Names of a fixed list, so they can stand in the statement.
    filters.push(`subject_kind IN (${subjectKinds.map(each => `'${each}'`).join(', ')})`);
  }
  filter('id', 'subject_id = $id', subjectId);
  if (accountId === undefined) return { source: 'audit', where: [], filters };
  bindings.account = accountId;
  return { source: 'audit INDEXED BY audit_by_account', where: ['account_id = $account'], filters };
}
