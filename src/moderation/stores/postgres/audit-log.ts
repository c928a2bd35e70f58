/**
 * Reading the audit trail of Postgres. A query walks one index from the cursor on, newest first, and looks at a bounded
 * window of entries: a search for something rare returns a short page and a cursor. It is one statement, so that what
 * is shown and where to go on are of the same moment, whatever is appended meanwhile.
 */
import { type AuditRow, appendAudit, auditEntryOf } from '../../../engines/postgres/audit-table.ts';
import type { Postgres } from '../../../engines/postgres/postgres.ts';
import type { AuditLog, AuditQuery } from '../../audit.ts';
import { auditSeqOf } from '../../audit-cursor.ts';

const windowRowsMax = 2_000;
/** The order of writing follows the clocks of all processes but for this much, should one have been set. */
const clockSlackMs = 24 * 60 * 60 * 1_000;

interface Looked {
  /** What was found, newest first: one more than was asked for when there is more. */
  readonly found: AuditRow[];
  readonly seen: number;
  readonly oldest_seq: number | null;
  readonly newest_at: number | null;
}

interface Place {
  readonly at: number;
  readonly seq: number;
}

export function createPostgresAuditLog(postgres: Postgres): AuditLog {
  let forgottenTo: Place = { at: -1, seq: 0 };
  return {
    async forget(before, limit) {
      const rows = await postgres.query<Place & { routine: boolean }>(
        `SELECT at, seq, routine FROM audit WHERE (at, seq) > ($1, $2) AND at < $3 ORDER BY at, seq LIMIT $4`,
        [forgottenTo.at, forgottenTo.seq, before, limit],
      );
      const routine = rows.filter(row => row.routine).map(({ seq }) => seq);
      if (routine.length > 0) {
        await postgres.query('DELETE FROM audit WHERE seq = ANY ($1::int8[])', [routine]);
      }
      forgottenTo = rows.at(-1) ?? forgottenTo;
      return rows.length;
    },
    append: records => postgres.transaction(tx => appendAudit(tx, records)),
    async query(query) {
      const { limit, fromMs } = query;
      const { where, filters, values } = planOf(query, await firstSeqAfter(postgres, query));
      const windowRows = filters.length === 0 ? limit + 1 : windowRowsMax;
      const [looked] = await postgres.read<Looked>(
        `WITH looked_at AS MATERIALIZED (
           SELECT * FROM audit WHERE ${where.join(' AND ')} ORDER BY seq DESC LIMIT ${windowRows}
         ), found AS (
           SELECT * FROM looked_at WHERE ${['true', ...filters].join(' AND ')} ORDER BY seq DESC LIMIT ${limit + 1}
         )
         SELECT (SELECT coalesce(json_agg(found ORDER BY seq DESC), '[]') FROM found) AS found,
           count(*) AS seen, min(seq) AS oldest_seq, max(at) AS newest_at FROM looked_at`,
        values,
      );
      const { found = [], seen = 0, oldest_seq = null, newest_at = null } = looked ?? {};
      const entries = found.slice(0, limit).map(auditEntryOf);
      if (found.length > limit) return { entries, nextCursor: entries.at(-1)!.id };
      const isPast = fromMs !== undefined && (newest_at ?? 0) < fromMs - clockSlackMs;
      const more = seen === windowRows && !isPast;
      return { entries, nextCursor: more ? oldest_seq?.toString(36) : undefined };
    },
  };
}

/** Entries younger than what is asked for are not walked through. */
async function firstSeqAfter(postgres: Postgres, { cursor, toMs }: AuditQuery): Promise<number> {
  if (cursor !== undefined) return auditSeqOf(cursor);
  if (toMs === undefined) return Number.MAX_SAFE_INTEGER;
  const [later] = await postgres.read<{ seq: number }>(
    'SELECT seq FROM audit WHERE at >= $1 ORDER BY at, seq LIMIT 1',
    [toMs + clockSlackMs],
  );
  return later?.seq ?? Number.MAX_SAFE_INTEGER;
}

interface Plan {
  /** Served by an index that ends with `seq`. */
  readonly where: readonly string[];
  /** Applied to what the window holds. */
  readonly filters: readonly string[];
  readonly values: readonly unknown[];
}

function planOf(query: AuditQuery, beforeSeq: number): Plan {
  const values: unknown[] = [];
  /** A condition with its value in the place of the question mark; none when the value does not matter. */
  const condition = (text: string, value: unknown): string[] => {
    if (value === undefined) return [];
    values.push(value);
    return [text.replace('?', `$${values.length}`)];
  };
  const { subjectKinds, subjectId, accountId, action, fromMs, toMs } = query;
  const [kind, ...otherKinds] = subjectKinds ?? [];
  const isOneKind = kind !== undefined && otherKinds.length === 0;
  // The index gives one kind in order, and several only to be sorted.
  const kinds = isOneKind
    ? condition('subject_kind = ?', kind)
    : condition('subject_kind = ANY (?)', subjectKinds);
  const subject = condition('subject_id = ?', subjectId);
  const account = condition('account_id = ?', accountId);
  const others = [
    ...condition('action = ?', action),
    ...condition('at >= ?', fromMs),
    ...condition('at < ?', toMs),
  ];
  const before = condition('seq < ?', beforeSeq);
  if (subjectId !== undefined && isOneKind) {
    return { where: [...kinds, ...subject, ...before], filters: [...account, ...others], values };
  }
  return { where: [...account, ...before], filters: [...kinds, ...subject, ...others], values };
}
