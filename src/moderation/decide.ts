/**
 * A moderator's decision about one link: allow it, hold it behind a warning, or block it. The new status, the entry in
 * the audit log and the end of the wait are one write. The moderator names the version that was reviewed, so that no
 * destination is allowed which replaced it a moment ago.
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
  /** Why; shown to the owner. */
  readonly reason: string;
}

/** Two concurrent decisions about one link are rare; more conflicts than this are not expected. */
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

/** For many at once, each in its current version: decided, or already as it should be. */
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
  if (link === undefined) throw new Problem('not_found', { detail: 'Link not found.' });
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

/** An allowed link gets its previous status back; a link that its owner disabled stays disabled. */
function statusFor(decision: Decision, link: Link, review: Review | undefined): LinkStatus {
  if (decision === 'quarantine') return 'quarantined';
  if (decision === 'block') return 'blocked';
  return isHeld(link) ? (review?.heldFrom ?? 'active') : link.status;
}

function changedSince({ version }: Link): Problem {
  return new Problem('edit_conflict', {
    detail: `The link has changed: it is at version ${version} now. Review it again, then decide.`,
    fields: { field: 'version' },
  });
}
