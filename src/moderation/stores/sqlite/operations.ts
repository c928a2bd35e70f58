/**
 * Everything that changes reviews, run on the writer thread inside its shared transaction: also on behalf of writes of
 * links, which bring a `ReviewNote`.
 */
import type { Database } from 'bun:sqlite';
import type { AuditRecord } from '../../../base/audit-entry.ts';
import { prepareAuditAppend } from '../../../engines/sqlite/audit-table.ts';
import {
  type Appeal,
  type AppealOutcome,
  afterAppeal,
  afterNote,
  afterReport,
  type Review,
  type ReviewNote,
} from '../../review.ts';
import { type Report, reportsKeptMax } from '../../store.ts';
import { type ReviewRow, reviewOf, reviewRowOf } from '../rows.ts';

export interface AppealRequest {
  readonly code: string;
  readonly appeal: Appeal;
  readonly audit: AuditRecord;
}

/** What writes of links call; it is no operation of its own. */
export function prepareKeepReview(database: Database): (note: ReviewNote) => void {
  const { find, write } = reviewTable(database);
  return note => write(afterNote(find(note.code), note));
}

export function moderationOperations(database: Database) {
  const { find, write } = reviewTable(database);
  const appendAudit = prepareAuditAppend(database);
  const forgetAudit = database.query('DELETE FROM audit WHERE seq = ?');
  const foldReport = database.query('UPDATE reports SET times = times + 1 WHERE code = ? AND reporter = ?');
  const reportsOf = database.query<{ kept: number }, [string]>(
    'SELECT count(*) AS kept FROM reports WHERE code = ?',
  );
  const addReport = database.query(
    'INSERT INTO reports (code, reporter, category, text, at, times) VALUES (?, ?, ?, ?, ?, 1)',
  );

  return {
    appendAudit: (records: readonly AuditRecord[]): void => records.forEach(appendAudit),

    forgetAudit(seqs: readonly number[]): void {
      for (const seq of seqs) forgetAudit.run(seq);
    },

    reportLink({ report, opens }: { report: Report; opens: boolean }): 'noted' | 'folded' {
      const { code, reporter, category, text, at } = report;
      if (foldReport.run(code, reporter).changes > 0) return 'folded';
      if (reportsOf.get(code)!.kept < reportsKeptMax) addReport.run(code, reporter, category, text, at);
      write(afterReport(find(code), code, at, opens));
      return 'noted';
    },

    appealLink({ code, appeal, audit }: AppealRequest): AppealOutcome {
      const { outcome, review } = afterAppeal(find(code), code, appeal);
      if (outcome !== 'noted') return outcome;
      write(review);
      appendAudit(audit);
      return outcome;
    },

    dismissReview({ code, at }: { code: string; at: number }): void {
      const review = find(code);
      const note = { kind: 'close', code, at, isHeld: false, heldFrom: undefined } as const;
      if (review !== undefined) write(afterNote(review, note));
    },
  };
}

export type ModerationOperations = ReturnType<typeof moderationOperations>;

function reviewTable(database: Database) {
  const byCode = database.query<ReviewRow, [string]>('SELECT * FROM reviews WHERE code = ?');
  const put = database.query<unknown, [ReviewRow]>(`
    INSERT OR REPLACE INTO reviews
      (code, opened_at, place, score, held_from, reporters, appeal, appealed_at, appeals, decided_at)
    VALUES
      ($code, $opened_at, $place, $score, $held_from, $reporters, $appeal, $appealed_at, $appeals, $decided_at)`);
  return {
    find(code: string): Review | undefined {
      const row = byCode.get(code);
      return row === null ? undefined : reviewOf(row);
    },
    write(review: Review): void {
      put.run(reviewRowOf(review));
    },
  };
}
