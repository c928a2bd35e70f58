/**
 * Reviews and reports in Postgres, beside the links they are about. Whoever changes what is known of a link first
 * claims its review, and so takes turns with all others who do.
 */
import { appendAudit } from '../../../engines/postgres/audit-table.ts';
import type { Postgres, PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { queueCursorOf, queuePlaceOf } from '../../queue-cursor.ts';
import { afterAppeal, afterNote, afterReport, type Review } from '../../review.ts';
import {
  type KeptReport,
  type Report,
  type ReviewStore,
  reportsKeptMax,
  waitingCountMax,
} from '../../store.ts';
import { type ReviewRow, reviewOf } from '../rows.ts';
import { claimReviews, writeReviews } from './review-table.ts';

export function createPostgresReviewStore(postgres: Postgres): ReviewStore {
  return {
    async find(code) {
      const [row] = await postgres.read<ReviewRow>('SELECT * FROM reviews WHERE code = $1', [code]);
      return row && reviewOf(row);
    },
    async queue({ limit, cursor }) {
      const from = cursor === undefined ? { place: Number.MIN_SAFE_INTEGER, code: '' } : queuePlaceOf(cursor);
      const rows = await postgres.read<ReviewRow>(
        `SELECT * FROM reviews WHERE opened_at IS NOT NULL AND (place, code) > ($1, $2)
         ORDER BY place, code LIMIT $3`,
        [from.place, from.code, limit + 1],
      );
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const more = rows.length > limit && last !== undefined;
      return {
        reviews: page.map(reviewOf),
        nextCursor: more ? queueCursorOf({ place: last.place!, code: last.code }) : undefined,
      };
    },
    async queueAge() {
      const [age] = await postgres.read<{ waiting: number; oldest: number | null }>(
        `SELECT (SELECT count(*) FROM
           (SELECT 1 FROM reviews WHERE opened_at IS NOT NULL LIMIT ${waitingCountMax}) AS counted) AS waiting,
           (SELECT min(opened_at) FROM reviews WHERE opened_at IS NOT NULL) AS oldest`,
      );
      return { waiting: age?.waiting ?? 0, oldestAt: age?.oldest ?? null };
    },

    report: (report, opens) => postgres.transaction(tx => keepReport(tx, report, opens)),
    reports: code =>
      postgres.read<KeptReport>(
        'SELECT code, category, text, at, times FROM reports WHERE code = $1 ORDER BY at, reporter LIMIT $2',
        [code, reportsKeptMax],
      ),
    appeal: (code, appeal, audit) =>
      postgres.transaction(async tx => {
        const { outcome, review } = afterAppeal(await claim(tx, code), code, appeal);
        if (outcome !== 'noted') return outcome;
        await writeReviews(tx, [review]);
        await appendAudit(tx, [audit]);
        return outcome;
      }),
    dismiss: (code, at) =>
      postgres.transaction(async tx => {
        const [row] = await tx.query<ReviewRow>('SELECT * FROM reviews WHERE code = $1 FOR UPDATE', [code]);
        if (row === undefined) return;
        const note = { kind: 'close', code, at, isHeld: false, heldFrom: undefined } as const;
        await writeReviews(tx, [afterNote(reviewOf(row), note)]);
      }),
  };
}

async function keepReport(
  tx: PostgresTransaction,
  report: Report,
  opens: boolean,
): Promise<'noted' | 'folded'> {
  const { code, reporter, category, text, at } = report;
  // Before anything is looked at: from here on nobody else adds a report of this link.
  const review = await claim(tx, code);
  const folded = await tx.query(
    'UPDATE reports SET times = times + 1 WHERE code = $1 AND reporter = $2 RETURNING times',
    [code, reporter],
  );
  if (folded.length > 0) return 'folded';
  await tx.query(
    `INSERT INTO reports (code, reporter, category, text, at, times) SELECT $1, $2, $3, $4, $5, 1
     WHERE (SELECT count(*) FROM reports WHERE code = $1) < $6`,
    [code, reporter, category, text, at, reportsKeptMax],
  );
  await writeReviews(tx, [afterReport(review, code, at, opens)]);
  return 'noted';
}

async function claim(tx: PostgresTransaction, code: string): Promise<Review | undefined> {
  return (await claimReviews(tx, [code])).get(code);
}
