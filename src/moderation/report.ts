/**
 * A report by anyone that a link is bad. Reports need no account, so they are not trusted: they put a link in front of
 * a moderator and change nothing by themselves. The reporter is kept as a hash that is specific to one link and one
 * destination: it deduplicates repeats, and says nothing about the person.
 */
import { createHmac } from 'node:crypto';
import type { Actor } from '../accounts/account.ts';
import type { ModerationContext } from './context.ts';
import { linkToDecide } from './decide.ts';
import type { ReportCategory } from './store.ts';

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
