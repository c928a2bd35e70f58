/** A review as record and as row of an SQL database. */
import { placeOf, type Review } from '../review.ts';

/** A type, not an interface, because only the former may be bound to a statement. */
export type ReviewRow = {
  code: string;
  opened_at: number | null;
  place: number | null;
  score: number;
  held_from: 'active' | 'disabled' | null;
  reporters: number;
  appeal: string | null;
  appealed_at: number | null;
  appeals: number;
  decided_at: number | null;
};

export const reviewOf = (row: ReviewRow): Review => ({
  code: row.code,
  openedAt: row.opened_at,
  score: row.score,
  heldFrom: row.held_from,
  reporters: row.reporters,
  appeal: row.appeal === null || row.appealed_at === null ? null : { at: row.appealed_at, text: row.appeal },
  appeals: row.appeals,
  decidedAt: row.decided_at,
});

export const reviewRowOf = (review: Review): ReviewRow => ({
  code: review.code,
  opened_at: review.openedAt,
  place: placeOf(review) ?? null,
  score: review.score,
  held_from: review.heldFrom,
  reporters: review.reporters,
  appeal: review.appeal?.text ?? null,
  appealed_at: review.appeal?.at ?? null,
  appeals: review.appeals,
  decided_at: review.decidedAt,
});
