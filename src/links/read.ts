/** Reading links as their owner: one, or a page of them. */
import { type Actor, mayManage, ownerIdOf } from '../accounts/account.ts';
import { yieldToEventLoop } from '../base/clock.ts';
import { invalidCursor, Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import { codePattern, type Link } from './link.ts';
import { isFiltered, isListed } from './list-match.ts';
import type { CountPage, ListFilter, ListPage, ListQuery } from './store.ts';

/** What one page of rare matches may cost before the caller gets a cursor instead. */
const windowsMax = 80;
const lookMaxMs = 50;
/** What counting links may cost before it gives up. */
const countMaxMs = 250;
/** Links found together before redirects get their turn: about a millisecond of work. */
const findsPerTurn = 100;

/** Another owner's link answers like a missing one; the owner of a deleted link learns that it was deleted. */
export async function readLink(context: LinkContext, actor: Actor, code: string): Promise<Link> {
  const link = codePattern.test(code) ? await context.store.find(code) : undefined;
  if (link === undefined || !mayManage(actor, link.ownerId)) {
    throw new Problem('not_found', { detail: 'Link not found.' });
  }
  if (link.status === 'deleted') throw new Problem('link_deleted');
  return link;
}

/** In the order of the codes; the caller has to check the owner of each. */
export async function findLinks(
  { store }: Pick<LinkContext, 'store'>,
  codes: readonly string[],
): Promise<(Link | undefined)[]> {
  const found: (Link | undefined)[] = [];
  for (let from = 0; from < codes.length; from += findsPerTurn) {
    if (from > 0) await yieldToEventLoop();
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

/** All matches of a filter; undefined where there are too many to count in time. */
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
    await yieldToEventLoop();
  } while (clock.monotonicMs() - startedMs < countMaxMs);
  return undefined;
}

function listingOwner(actor: Actor): string {
  const ownerId = ownerIdOf(actor);
  if (ownerId === null) throw new Problem('unauthorized', { detail: 'Listing links needs an API key.' });
  return ownerId;
}

/** A page from as many windows as it takes, within bounds. */
async function gatherPage(
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
    await yieldToEventLoop();
  }
  return { links, nextCursor: cursor };
}

/** Returns which of an owner's links were clicked, and how often, in that order. */
export type RankLinks = (question: {
  readonly ownerId: string;
  readonly order: 'most' | 'least';
  readonly after: RankedLink | undefined;
  readonly limit: number;
  readonly codes: readonly string[] | undefined;
}) => Promise<RankedLink[]>;

export interface RankedLink {
  readonly code: string;
  readonly clicks: number;
}

export type ClicksQuery = Omit<ListQuery, 'ownerId' | 'now' | 'order'> & {
  readonly order: 'most' | 'least';
};

type Place =
  | { readonly kind: 'followed'; readonly after: RankedLink | undefined }
  | { readonly kind: 'others'; readonly cursor: string | undefined };

/** Ranked links examined per query where a filter decides which match. */
const windowMax = 1_000;

/**
 * Pages of an owner's links in the order of their clicks. The warehouse ranks the links that were clicked; those
 * without clicks come from the store, newest first. A cursor says where in which of the two to continue.
 *
 * Clicks are counted while a list is read, so a link that is clicked between two pages may be on both or on neither.
 */
export function listByClicks(
  context: LinkContext,
  actor: Actor,
  rank: RankLinks,
  { order, ...query }: ClicksQuery,
): Promise<ListPage> {
  const ownerId = listingOwner(actor);
  const whole: ListQuery = { ...query, ownerId, now: context.clock.now(), order: 'newest' };
  const [first, second] = order === 'most' ? startsOf('followed', 'others') : startsOf('others', 'followed');
  const afterwards = ({ kind }: Place): string | undefined =>
    kind === first.kind ? cursorOf(second) : undefined;

  const followed = async (place: Place & { kind: 'followed' }, limit: number): Promise<ListPage> => {
    const window = isFiltered(whole) ? windowMax : limit;
    const ranked = await rank({ ownerId, order, after: place.after, limit: window, codes: undefined });
    const found = await findLinks(
      context,
      ranked.map(({ code }) => code),
    );
    const links = [];
    for (const [index, link] of found.entries()) {
      if (link === undefined || !isListed(link, whole)) continue;
      links.push(link);
      if (links.length === limit) return { links, nextCursor: cursorOf({ ...place, after: ranked[index] }) };
    }
    const isEnd = ranked.length < window;
    return { links, nextCursor: isEnd ? afterwards(place) : cursorOf({ ...place, after: ranked.at(-1) }) };
  };

  const others = async (place: Place & { kind: 'others' }, limit: number): Promise<ListPage> => {
    const page = await context.store.list({ ...whole, cursor: place.cursor, limit });
    const codes = page.links.map(({ code }) => code);
    const ranked =
      codes.length === 0 ? [] : await rank({ ownerId, order, after: undefined, limit: codes.length, codes });
    const wereFollowed = new Set(ranked.map(({ code }) => code));
    const { nextCursor: cursor } = page;
    return {
      links: page.links.filter(({ code }) => !wereFollowed.has(code)),
      nextCursor: cursor === undefined ? afterwards(place) : cursorOf({ ...place, cursor }),
    };
  };

  return gatherPage(context, query, (cursor, limit) => {
    const place = cursor === undefined ? first : placeOf(cursor);
    return place.kind === 'followed' ? followed(place, limit) : others(place, limit);
  });
}

function startsOf(...kinds: readonly [Place['kind'], Place['kind']]): [Place, Place] {
  const [first, second] = kinds.map(
    (kind): Place => (kind === 'followed' ? { kind, after: undefined } : { kind, cursor: undefined }),
  );
  return [first!, second!];
}

/** No store issues a cursor with a dot, so one kind of cursor is never taken for another. */
function cursorOf(place: Place): string {
  if (place.kind === 'others') return `o.${place.cursor ?? ''}`;
  return place.after === undefined ? 'f.' : `f.${place.after.clicks}.${place.after.code}`;
}

function placeOf(cursor: string): Place {
  const rest = cursor.slice(2);
  if (cursor.startsWith('o.')) return { kind: 'others', cursor: rest === '' ? undefined : rest };
  if (cursor === 'f.') return { kind: 'followed', after: undefined };
  const [, clicks, code = ''] = /^f\.([1-9]\d{0,14})\.(.+)$/.exec(cursor) ?? [];
  if (codePattern.test(code)) return { kind: 'followed', after: { clicks: Number(clicks), code } };
  throw invalidCursor();
}
