/**
 * Reviews as their writers see them: claimed, changed by a pure rule, written. A claim makes the row if there is none
 * and keeps everyone else off it until the transaction ends, so that of two reports, or of a report and a decision, at
 * the same time neither is lost. Rows are claimed in the order of their codes, so that no two writers wait for each
 * other.
 */
import type { PostgresTransaction } from '../../../engines/postgres/postgres.ts';
import { afterNote, type Review, type ReviewNote } from '../../review.ts';
import { type ReviewRow, reviewOf, reviewRowOf } from '../rows.ts';

/** What writes of links call inside their transaction; however many notes, it is two statements. */
export async function keepReviewNotes(tx: PostgresTransaction, notes: readonly ReviewNote[]): Promise<void> {
  if (notes.length === 0) return;
  const reviews = await claimReviews(
    tx,
    notes.map(({ code }) => code),
  );
  for (const note of notes) reviews.set(note.code, afterNote(reviews.get(note.code), note));
  await writeReviews(tx, [...reviews.values()]);
}

/** A row that was not there is one that says nothing yet. */
export async function claimReviews(
  tx: PostgresTransaction,
  codes: readonly string[],
): Promise<Map<string, Review>> {
  const rows = await tx.query<ReviewRow>(
    `INSERT INTO reviews (code) SELECT code FROM unnest($1::text[]) AS code ORDER BY code COLLATE "C"
     ON CONFLICT (code) DO UPDATE SET code = excluded.code RETURNING *`,
    [[...new Set(codes)]],
  );
  return new Map(rows.map(row => [row.code, reviewOf(row)]));
}

/** Only of reviews that this transaction has claimed. */
export async function writeReviews(tx: PostgresTransaction, reviews: readonly Review[]): Promise<void> {
  await tx.query(
    `UPDATE reviews SET opened_at = given.opened_at, place = given.place, score = given.score,
       held_from = given.held_from, reporters = given.reporters, appeal = given.appeal,
       appealed_at = given.appealed_at, appeals = given.appeals, decided_at = given.decided_at
     FROM json_populate_recordset(NULL::reviews, $1::json) AS given WHERE reviews.code = given.code`,
    [JSON.stringify(reviews.map(reviewRowOf))],
  );
}
