/** The links that wait for a moderator, and everything known about one link before deciding. */

import { type AuditPage, everythingAbout } from '../audit/audit-log.ts';
import { yieldToEventLoop } from '../base/clock.ts';
import type { Link } from '../links/link.ts';
import { linkToDecide } from './decide.ts';
import type { Review } from './review.ts';
import type { KeptReport, ModerationContext, QueueAge } from './store.ts';

export interface QueueEntry {
  readonly link: Link;
  readonly review: Review;
}

export interface Queue extends QueueAge {
  readonly entries: QueueEntry[];
  readonly nextCursor: string | undefined;
}

export interface Case {
  readonly link: Link;
  readonly review: Review | undefined;
  readonly reports: KeptReport[];
  readonly history: AuditPage;
}

const historyShownMax = 50;
/** Pages of deleted links before the caller gets a cursor instead. */
const pagesMax = 10;

export async function readQueue(
  context: ModerationContext,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<Queue> {
  const { links, reviews } = context;
  const entries: QueueEntry[] = [];
  let next = cursor;
  for (let page = 0; page < pagesMax; page += 1) {
    const found = await reviews.queue({ limit: limit - entries.length, cursor: next });
    next = found.nextCursor;
    for (const review of found.reviews) {
      const link = await links.store.find(review.code);
      if (link !== undefined && link.status !== 'deleted') entries.push({ link, review });
      // A link that expired long ago is deleted silently; then nothing is left to decide.
      else await reviews.dismiss(review.code, links.clock.now());
    }
    if (next === undefined || entries.length >= limit) break;
    await yieldToEventLoop();
  }
  return { entries, nextCursor: next, ...(await reviews.queueAge()) };
}

export async function readCase(context: ModerationContext, code: string): Promise<Case> {
  const link = await linkToDecide(context, code);
  const about = everythingAbout({ kind: 'link', id: code }, { limit: historyShownMax, cursor: undefined });
  return {
    link,
    review: await context.reviews.find(code),
    reports: await context.reviews.reports(code),
    history: await context.audit.query(about),
  };
}
