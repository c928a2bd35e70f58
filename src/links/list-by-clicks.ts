/**
 * Pages of an owner's links in the order of their clicks. The warehouse ranks the links that were followed; those that
 * nobody has followed come from the store, newest first. A cursor says where in which of the two to go on.
 *
 * Clicks are counted while a list is read, so a link that is followed between two pages may be on both or on neither.
 */
import type { Actor } from '../accounts/account.ts';
import { Problem } from '../base/errors.ts';
import type { LinkContext } from './context.ts';
import { codePattern } from './link.ts';
import { isFiltered, isListed } from './list-match.ts';
import { findLinks, gatherPage, listingOwner } from './read.ts';
import type { ListPage, ListQuery } from './store.ts';

/** Asks which of an owner's links were followed, and how often, in that order. */
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

/** Ranked links looked at per question where a filter decides which are wanted. */
const windowMax = 1_000;

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

/** No store gives out a cursor with a dot, so one kind of cursor is never taken for another. */
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
  throw new Problem('invalid_request', {
    detail: 'This cursor was not given out by Terse.',
    fields: { field: 'cursor' },
  });
}
