/**
 * A report by anyone that a link is bad. Reports need no account, so they are not trusted: they put a link in front of
 * a moderator and change nothing by themselves. The reporter is kept as a hash that is specific to one link and one
 * destination: it deduplicates repeats, and says nothing about the person.
 */
import { createHmac } from 'node:crypto';
import { type Actor, mayManage } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import { isHeld } from '../links/link.ts';
import { linkRecord } from '../links/trace.ts';
import { linkToDecide } from './decide.ts';
import { appealsMax } from './review.ts';
import type { ModerationContext, ReportCategory } from './store.ts';

export interface ReportInput {
  readonly code: string;
  readonly category: ReportCategory;
  readonly text: string | null;
}

/** `address` stands for all addresses of one customer, and is discarded as soon as it is hashed. */
export async function reportLink(
  context: ModerationContext,
  actor: Actor,
  address: string,
  { code, category, text }: ReportInput,
): Promise<void> {
  const link = await linkToDecide(context, code);
  const who = actor.kind === 'account' ? `account ${actor.accountId}` : `address ${address}`;
  const reporter = createHmac('sha256', context.reporterKey)
    .update(JSON.stringify([code, link.longUrl, who]))
    .digest('base64url')
    .slice(0, 22);
  const at = context.links.clock.now();
  await context.reviews.report({ code, reporter, category, text, at }, link.status !== 'blocked');
}

/** The owner's response to a held link: a short text that puts it in front of a moderator again. */

export async function appealLink(
  context: ModerationContext,
  actor: Actor,
  code: string,
  text: string,
): Promise<void> {
  const link = await context.links.store.find(code);
  if (link === undefined || !mayManage(actor, link.ownerId))
    throw new Problem('not_found', { detail: 'Link not found.' });
  const { status } = await linkToDecide(context, code);
  if (!isHeld({ status })) throw refused(`This link is ${status}: there is nothing to appeal against.`);
  const at = context.links.clock.now();
  const audit = linkRecord(actor, 'link.appealed', link, at, { before: null, after: null, reason: text });
  const outcome = await context.reviews.appeal(code, { at, text }, audit);
  if (outcome === 'pending') throw refused('An appeal is waiting for an answer already.');
  if (outcome === 'used up') throw refused(`A decision can be appealed against ${appealsMax} times.`);
}

function refused(detail: string): Problem {
  return new Problem('appeal_refused', { detail });
}
