/**
 * The moderation state of one link, and how it changes. A link waits from the first signal against it (or for it: an
 * appeal) until a moderator decides; what arrives meanwhile joins the wait and never restarts its clock. These
 * functions are pure, so that every store keeps the same rules.
 */
import type { ReviewNote } from '../links/trace.ts';

export type { LinkTrace, ReviewNote } from '../links/trace.ts';

export interface Review {
  readonly code: string;
  /** Since when it waits; null when there is nothing to decide. */
  readonly openedAt: number | null;
  /** How urgent a review is, 0 to 100. */
  readonly score: number;
  /** The link's status before it was held, restored when it is allowed; null when it is not held. */
  readonly heldFrom: 'active' | 'disabled' | null;
  /** Reporters since the last decision, each counted once. */
  readonly reporters: number;
  /** The text of the owner's appeal, until it is answered. */
  readonly appeal: Appeal | null;
  /** Appeals since the link was last allowed. */
  readonly appeals: number;
  readonly decidedAt: number | null;
}

export interface Appeal {
  readonly at: number;
  readonly text: string;
}

/** How urgent a report or an appeal is, as a risk score. Every further reporter adds to it, up to the maximum. */
const firstReportScore = 40;
const furtherReportScore = 10;
const appealScore = 50;
const scoreMax = 100;

export const appealsMax = 3;

/**
 * The queue's order is risk and age in one number: a point of risk is worth three seconds of waiting. So the worst goes
 * ahead of the harmless by the five minutes in which everything should be decided, and nothing waits forever.
 */
const waitPerPointMs = 3_000;
export const decisionDueMs = 5 * 60 * 1_000;

/** Lower is sooner; undefined when the review does not wait. */
export function placeOf({ openedAt, score }: Review): number | undefined {
  return openedAt === null ? undefined : openedAt - score * waitPerPointMs;
}

const blank = (code: string): Review => ({
  code,
  openedAt: null,
  score: 0,
  heldFrom: null,
  reporters: 0,
  appeal: null,
  appeals: 0,
  decidedAt: null,
});

/** How a write of the link changes its review. */
export function afterNote(review: Review | undefined, note: ReviewNote): Review {
  const before = review ?? blank(note.code);
  if (note.kind === 'open') {
    const { at, score, heldFrom } = note;
    return { ...waiting(before, at, score), heldFrom: heldFrom ?? before.heldFrom };
  }
  const decided = { ...before, openedAt: null, score: 0, reporters: 0, appeal: null, decidedAt: note.at };
  if (note.heldFrom !== undefined) return { ...decided, heldFrom: note.heldFrom };
  return note.isHeld ? decided : { ...decided, heldFrom: null, appeals: 0 };
}

/** `opens` is false for a link that can no longer be followed. */
export function afterReport(review: Review | undefined, code: string, at: number, opens: boolean): Review {
  const before = review ?? blank(code);
  const reporters = before.reporters + 1;
  const counted = { ...before, reporters };
  return opens ? waiting(counted, at, firstReportScore + (reporters - 1) * furtherReportScore) : counted;
}

export type AppealOutcome = 'noted' | 'pending' | 'used up';

export function afterAppeal(
  review: Review | undefined,
  code: string,
  appeal: Appeal,
): { outcome: AppealOutcome; review: Review } {
  const before = review ?? blank(code);
  if (before.appeal !== null) return { outcome: 'pending', review: before };
  if (before.appeals >= appealsMax) return { outcome: 'used up', review: before };
  const appealed = { ...before, appeal, appeals: before.appeals + 1 };
  return { outcome: 'noted', review: waiting(appealed, appeal.at, appealScore) };
}

function waiting(review: Review, at: number, score: number): Review {
  const urgency = Math.min(scoreMax, Math.max(0, Math.round(score)));
  return { ...review, openedAt: review.openedAt ?? at, score: Math.max(review.score, urgency) };
}
