/** Reviews and reports in the embedded database, beside the links they are about. */
import type { Database } from 'bun:sqlite';
import type { SqliteWriter } from '../../../engines/sqlite/writer.ts';
import { queueCursorOf, queuePlaceOf } from '../../queue-cursor.ts';
import {
  type KeptReport,
  type ReportCategory,
  type ReviewStore,
  reportsKeptMax,
  waitingCountMax,
} from '../../store.ts';
import { type ReviewRow, reviewOf } from '../rows.ts';
import type { ModerationOperations } from './operations.ts';

interface ReportRow {
  code: string;
  category: ReportCategory;
  text: string | null;
  at: number;
  times: number;
}

export function createSqliteReviewStore(
  reader: Database,
  writer: SqliteWriter<ModerationOperations>,
): ReviewStore {
  const byCode = reader.query<ReviewRow, [string]>('SELECT * FROM reviews WHERE code = ?');
  const after = reader.query<ReviewRow, [number, string, number]>(`
    SELECT * FROM reviews INDEXED BY reviews_by_place
    WHERE opened_at IS NOT NULL AND (place, code) > (?, ?) ORDER BY place, code LIMIT ?`);
  const age = reader.query<{ waiting: number; oldest: number | null }, []>(`
    SELECT (SELECT count(*) FROM (SELECT 1 FROM reviews WHERE opened_at IS NOT NULL LIMIT ${waitingCountMax})) AS waiting,
      (SELECT min(opened_at) FROM reviews WHERE opened_at IS NOT NULL) AS oldest`);
  const reportsOf = reader.query<ReportRow, [string, number]>(
    'SELECT code, category, text, at, times FROM reports WHERE code = ? ORDER BY at, reporter LIMIT ?',
  );

  return {
    async find(code) {
      const row = byCode.get(code);
      return row === null ? undefined : reviewOf(row);
    },
    async queue({ limit, cursor }) {
      const from = cursor === undefined ? { place: Number.MIN_SAFE_INTEGER, code: '' } : queuePlaceOf(cursor);
      const rows = after.all(from.place, from.code, limit + 1);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined;
      return {
        reviews: page.map(reviewOf),
        nextCursor: more ? queueCursorOf({ place: last.place!, code: last.code }) : undefined,
      };
    },
    async queueAge() {
      const { waiting = 0, oldest = null } = age.get() ?? {};
      return { waiting, oldestAt: oldest };
    },
    report: (report, opens) => writer.run('reportLink', { report, opens }),
    reports: async (code): Promise<KeptReport[]> => reportsOf.all(code, reportsKeptMax),
    appeal: (code, appeal, audit) => writer.run('appealLink', { code, appeal, audit }),
    dismiss: (code, at) => writer.run('dismissReview', { code, at }),
  };
}
