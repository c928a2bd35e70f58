/**
 * A moderator's decision about one link: allow it, hold it behind a warning, or block it. The new status, the entry in
 * the audit log and the closed review are one write. The moderator names the version that was reviewed, so a
 * destination that was changed meanwhile is not allowed unseen.
 */
import type { Actor } from '../accounts/account.ts';
import { systemActor } from '../audit/audit-entry.ts';
import { yieldToEventLoop } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { isHeld, type Link, type LinkStatus } from '../links/link.ts';
import { leadsTo } from '../links/list-match.ts';
import type { ListPage } from '../links/store.ts';
import { auditActorOf, closedReview, linkRecord } from '../links/trace.ts';
import type { Review } from './review.ts';
import type { ModerationContext } from './store.ts';

export const decisions = ['allow', 'quarantine', 'block'] as const;
export type Decision = (typeof decisions)[number];

interface DecisionInput {
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

/** Decides the current version of a link, unless it already has the decided status and no open review. */
async function decideAsItIs(
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

/**
 * One decision about all links of an account or to a domain. A call does a bounded amount of work, newest links first,
 * and returns a cursor to continue from; each link is decided separately, so a call that ends half-way is simply
 * repeated from the last cursor, or from the start.
 */

export type Selection =
  | { readonly kind: 'account'; readonly id: string }
  /** The domain itself and everything below it, in the parser's spelling. */
  | { readonly kind: 'domain'; readonly id: string };

interface ManyDecided {
  readonly decided: number;
  /** Links that already had the decided status. */
  readonly unchanged: number;
  /** Undefined when all are done. */
  readonly nextCursor: string | undefined;
}

/** Links per call, and how many of them are written at a time: they share the store's transactions. */
export const linksPerCallMax = 500;
const linksPerTurn = 50;
/** Windows without a match before the caller gets a cursor instead. */
const windowsMax = 40;

export async function decideMany(
  context: ModerationContext,
  actor: Actor,
  selection: Selection,
  input: DecisionInput,
  cursor: string | undefined,
): Promise<ManyDecided> {
  // Links that are accepted but not yet stored could appear, undecided, behind the cursor.
  if (cursor === undefined) await context.links.store.settle?.(link => isSelected(link, selection));
  let [decided, unchanged, next] = [0, 0, cursor];
  for (let window = 0; window < windowsMax && decided + unchanged < linksPerCallMax; window += 1) {
    const page = await pageOf(context, selection, next);
    const outcomes = await Promise.all(
      page.links.map(({ code }: Link) => decideAsItIs(context, actor, code, input)),
    );
    for (const outcome of outcomes) {
      if (outcome === 'decided') decided += 1;
      else unchanged += 1;
    }
    next = page.nextCursor;
    if (next === undefined) break;
    await yieldToEventLoop();
  }
  await context.audit.append([
    {
      at: context.links.clock.now(),
      actor: auditActorOf(actor),
      action: `${selection.kind}.linksDecided`,
      subject: selection,
      before: null,
      after: { decision: input.decision, decided, unchanged, isComplete: next === undefined },
      reason: input.reason,
      isRoutine: false,
    },
  ]);
  return { decided, unchanged, nextCursor: next };
}

const isSelected = ({ ownerId, longUrl }: Link, { kind, id }: Selection): boolean =>
  kind === 'account' ? ownerId === id : leadsTo(longUrl, id);

function pageOf(
  { links }: ModerationContext,
  selection: Selection,
  cursor: string | undefined,
): Promise<ListPage> {
  const page = { limit: linksPerTurn, cursor };
  if (selection.kind === 'domain') return links.store.listByDomain({ ...page, domain: selection.id });
  return links.store.list({
    ...page,
    ownerId: selection.id,
    order: 'newest',
    tag: undefined,
    state: undefined,
    search: undefined,
    now: links.clock.now(),
  });
}

/**
 * A destination that a threat source lists only after its link was made: Terse blocks the link itself and queues it for
 * a moderator. The link's record remembers which listing that was, so a moderator who allows it has judged this
 * listing, and it does not block the link a second time.
 */

export interface Listing {
  /** The destination that was looked up; a link that points elsewhere by now is not changed. */
  readonly url: string;
  /** Who lists it and as what: `safeBrowsing:malware`. */
  readonly signal: string;
  /** An explanation for the owner. */
  readonly reason: string;
}

const listedScore = 100;

export async function holdListed(
  { links }: ModerationContext,
  code: string,
  { url, signal, reason }: Listing,
): Promise<'held' | 'unchanged'> {
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const link = await links.store.find(code);
    if (link === undefined || link.status === 'deleted' || link.status === 'blocked') return 'unchanged';
    if (link.longUrl !== url || link.risk?.reasons.includes(signal)) return 'unchanged';
    const at = links.clock.now();
    const risk = { score: listedScore, reasons: [...(link.risk?.reasons ?? []), signal] };
    const next: Link = { ...link, status: 'blocked', risk, updatedAt: at, version: link.version + 1 };
    const outcome = await links.store.replace(next, {
      audit: {
        at,
        actor: systemActor,
        action: 'link.listed',
        subject: { kind: 'link', id: code },
        before: { status: link.status, risk: link.risk },
        after: { status: next.status, risk },
        reason,
        isRoutine: false,
      },
      review: {
        kind: 'open',
        code,
        at,
        score: listedScore,
        heldFrom: isHeld(link) ? undefined : link.status === 'disabled' ? 'disabled' : 'active',
      },
    });
    if (outcome === 'replaced') return 'held';
  }
  throw new Problem('edit_conflict', { detail: `The link ${code} kept changing; try again.` });
}
