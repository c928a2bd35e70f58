/** Reading links as their owner: one, or a page of them. */
import { type Actor, mayManage, ownerIdOf } from '../accounts/account.ts';
import { letOthersRun } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import { codePattern, type Link } from './link.ts';
import type { CountPage, ListFilter, ListPage, ListQuery } from './store.ts';

/** What one page of rare matches may cost before the caller is handed a cursor instead. */
const windowsMax = 80;
const lookMaxMs = 50;
/** What counting links may cost before it is given up. */
const countMaxMs = 250;
/** Links found together before redirects get their turn: about a millisecond of work. */
const findsPerTurn = 100;

/** A foreign link answers like a missing one; the owner of a deleted link is told so. */
export async function readLink(context: LinkContext, actor: Actor, code: string): Promise<Link> {
  const link = codePattern.test(code) ? await context.store.find(code) : undefined;
  if (link === undefined || !mayManage(actor, link.ownerId)) {
    throw new Problem('not_found', { detail: 'There is no such link.' });
  }
  if (link.status === 'deleted') throw new Problem('link_deleted');
  return link;
}

/** In the order of the codes; the caller has to check whom each belongs to. */
export async function findLinks(
  { store }: Pick<LinkContext, 'store'>,
  codes: readonly string[],
): Promise<(Link | undefined)[]> {
  const found: (Link | undefined)[] = [];
  for (let from = 0; from < codes.length; from += findsPerTurn) {
    if (from > 0) await letOthersRun();
    found.push(...(await Promise.all(codes.slice(from, from + findsPerTurn).map(code => store.find(code)))));
  }
  return found;
}

export async function listLinks(
  context: LinkContext,
  actor: Actor,
  query: Omit<ListQuery, 'ownerId' | 'now'>,
): Promise<ListPage> {
  const whole = { ...query, ownerId: listingOwner(actor), now: context.clock.now() };
  return gatherPage(context, query, (cursor, limit) => context.store.list({ ...whole, cursor, limit }));
}

/** All that a filter lets through; undefined where there are too many to count in time. */
export async function countLinks(
  { store, clock }: Pick<LinkContext, 'store' | 'clock'>,
  actor: Actor,
  filter: ListFilter,
): Promise<number | undefined> {
  const query = { ...filter, ownerId: listingOwner(actor), now: clock.now(), order: 'newest' } as const;
  const startedMs = clock.monotonicMs();
  let [sum, cursor]: [number, string | undefined] = [0, undefined];
  do {
    const page: CountPage = await store.count({ ...query, cursor });
    sum += page.count;
    cursor = page.nextCursor;
    if (cursor === undefined) return sum;
    await letOthersRun();
  } while (clock.monotonicMs() - startedMs < countMaxMs);
  return undefined;
}

export function listingOwner(actor: Actor): string {
  const ownerId = ownerIdOf(actor);
  if (ownerId === null) throw new Problem('unauthorized', { detail: 'Listing links needs an API key.' });
  return ownerId;
}

/** A page out of as many windows as it takes, within bounds. */
export async function gatherPage(
  { clock }: Pick<LinkContext, 'clock'>,
  query: Pick<ListQuery, 'cursor' | 'limit'>,
  look: (cursor: string | undefined, limit: number) => Promise<ListPage>,
): Promise<ListPage> {
  const startedMs = clock.monotonicMs();
  const links: Link[] = [];
  let cursor = query.cursor;
  for (let window = 0; window < windowsMax; window += 1) {
    const page = await look(cursor, query.limit - links.length);
    links.push(...page.links);
    cursor = page.nextCursor;
    if (cursor === undefined || links.length >= query.limit) break;
    if (clock.monotonicMs() - startedMs > lookMaxMs) break;
    // Lets waiting redirects run between two windows.
    await letOthersRun();
  }
  return { links, nextCursor: cursor };
}
