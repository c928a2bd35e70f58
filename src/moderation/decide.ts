/**
 * A moderator's decision about one link: let it go, hold it behind a warning, or block it. The new status, the entry in
 * the audit trail and the end of the wait are one write. Whoever decides names the version that was looked at, so that
 * nobody lets a destination go which was put in place a moment ago.
 */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import { isHeld, type Link, type LinkStatus } from '../links/link.ts';
import { closedReview, linkRecord } from '../links/trace.ts';
import type { ModerationContext } from './context.ts';
import type { Review } from './review.ts';

export const decisions = ['allow', 'quarantine', 'block'] as const;
export type Decision = (typeof decisions)[number];

export interface DecisionInput {
  readonly decision: Decision;
  /** Why; the owner gets to read it. */
  readonly reason: string;
}

/** Two decisions about one link at once are rare; more than this many changes meanwhile are not meant to be met. */
const attemptsMax = 8;

export async function decideLink(
  context: ModerationContext,
  actor: Actor,
  code: string,
  input: DecisionInput & { readonly version: number },
): Promise<Link> {
  const link = await linkToDecide(context, code);
  if (link.version !== input.version) throw changedSince(link);
  const decided = await write(context, actor, link, await context.reviews.find(code), input);
  if (decided === undefined) throw changedSince(await linkToDecide(context, code));
  return decided;
}

/** For many at once, each as it is now: decided, or as it should be already. */
export async function decideAsItIs(
  context: ModerationContext,
  actor: Actor,
  code: string,
  input: DecisionInput,
): Promise<'decided' | 'unchanged'> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const link = await context.links.store.find(code);
    if (link === undefined || link.status === 'deleted') return 'unchanged';
    const review = await context.reviews.find(code);
    const isSettled = review === undefined || review.openedAt === null;
    if (isSettled && statusFor(input.decision, link, review) === link.status) return 'unchanged';
    if ((await write(context, actor, link, review, input)) !== undefined) return 'decided';
  }
  throw new Problem('edit_conflict', { detail: `The link ${code} kept changing; try again.` });
}

export async function linkToDecide(context: ModerationContext, code: string): Promise<Link> {
  const link = await context.links.store.find(code);
  if (link === undefined) throw new Problem('not_found', { detail: 'There is no such link.' });
  if (link.status === 'deleted') throw new Problem('link_deleted');
  return link;
}

/** Undefined when the link changed meanwhile. */
async function write(
  { links }: ModerationContext,
  actor: Actor,
  link: Link,
  review: Review | undefined,
  { decision, reason }: DecisionInput,
): Promise<Link | undefined> {
  const status = statusFor(decision, link, review);
  const next: Link = { ...link, status, updatedAt: links.clock.now(), version: link.version + 1 };
  const audit = linkRecord(actor, 'link.decided', link, next.updatedAt, {
    before: { status: link.status },
    after: { status, decision },
    reason,
  });
  const outcome = await links.store.replace(next, { audit, review: closedReview(link, next) });
  return outcome === 'replaced' ? next : undefined;
}

/** What is let go is again what it was before; a link that its owner switched off stays off. */
function statusFor(decision: Decision, link: Link, review: Review | undefined): LinkStatus {
  if (decision === 'quarantine') return 'quarantined';
  if (decision === 'block') return 'blocked';
  return isHeld(link) ? (review?.heldFrom ?? 'active') : link.status;
}

function changedSince({ version }: Link): Problem {
  return new Problem('edit_conflict', {
    detail: `The link was changed since you looked: it is at version ${version} now. Look again, then decide.`,
    fields: { field: 'version' },
  });
}
