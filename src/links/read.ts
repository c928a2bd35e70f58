/** Reading links as their owner: one, or a page of them. */
import { type Actor, mayManage, ownerIdOf } from '../accounts/account.ts';
import { letOthersRun } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import type { Link } from './link.ts';
import type { ListPage, ListQuery } from './store.ts';

/** What one page of rare matches may cost before the caller is handed a cursor instead. */
const windowsMax = 80;
const lookMaxMs = 50;

/** A foreign link answers like a missing one; the owner of a deleted link is told so. */
export async function readLink(context: LinkContext, actor: Actor, code: string): Promise<Link> {
  const link = await context.store.find(code);
  if (link === undefined || !mayManage(actor, link.ownerId)) {
    throw new Problem('not_found', { detail: 'There is no such link.' });
  }
  if (link.status === 'deleted') throw new Problem('link_deleted');
  return link;
}

export async function listLinks(
  context: LinkContext,
  actor: Actor,
  query: Omit<ListQuery, 'ownerId' | 'now'>,
): Promise<ListPage> {
  const ownerId = ownerIdOf(actor);
  if (ownerId === null) throw new Problem('unauthorized', { detail: 'Listing links needs an API key.' });
  const now = context.clock.now();
  const startedMs = context.clock.monotonicMs();
  const links: Link[] = [];
  let cursor = query.cursor;
  for (let window = 0; window < windowsMax; window += 1) {
    const page = await context.store.list({
      ...query,
      ownerId,
      now,
      cursor,
      limit: query.limit - links.length,
    });
    links.push(...page.links);
    cursor = page.nextCursor;
    if (cursor === undefined || links.length >= query.limit) break;
    if (context.clock.monotonicMs() - startedMs > lookMaxMs) break;
    // Lets waiting redirects run between two windows.
    await letOthersRun();
  }
  return { links, nextCursor: cursor };
}
