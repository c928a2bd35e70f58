/** Pages of links: an owner's, and those that lead to a domain. Each call examines a bounded number of links. */
import { Problem } from '../../../base/errors.ts';
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import type { IndexName } from '../../../engines/dynamodb/queries.ts';
import type { LinkStatus } from '../../link.ts';
import { isFiltered, isListed, leadsTo } from '../../list-match.ts';
import type { CountPage, CountQuery, DomainQuery, ListPage, ListQuery } from '../../store.ts';
import { heldOrDisabled } from '../rows.ts';
import {
  codeOfPlace,
  labelPartitions,
  linkKey,
  ownerPartitions,
  placePattern,
  placesFrom,
  sitePartitions,
  urlKey,
} from './keys.ts';
import { type LinkRow, linkOf, statusLabel, tagLabel } from './rows.ts';

/** Links examined per call where a filter decides which match: two reads of a hundred, in parallel. */
const windowMax = 200;
const countedMax = 1_000;

export function listLinks(dynamo: Dynamo, query: ListQuery): Promise<ListPage> {
  const { limit } = query;
  const window = isFiltered(query) ? Math.max(windowMax, limit + 1) : limit + 1;
  return pageOf(dynamo, walkOf(query), { limit, windowMax: window }, row => isListed(linkOf(row), query));
}

export async function countLinks(dynamo: Dynamo, query: CountQuery): Promise<CountPage> {
  const { places, isEnd } = await nextPlaces(dynamo, checked(walkOf(query)), countedMax);
  const wanted = isFiltered(query)
    ? (await rowsAt(dynamo, places)).filter(row => isListed(linkOf(row), query))
    : places;
  return { count: wanted.length, nextCursor: isEnd ? undefined : places.at(-1) };
}

function walkOf(query: CountQuery): Walk {
  const { order, cursor, createdFrom, createdTo } = query;
  return { partitions: partitionsOf(query), order, cursor, createdFrom, createdTo };
}

/** The most selective ordered path through the links; several where each has only a part. */
function partitionsOf({ ownerId, tag, state, longUrl }: CountQuery): Partition[] {
  const labelled = (label: string): Partition[] => labelPartitions(ownerId, label).map(pk => ({ pk }));
  const withStatus = (status: LinkStatus): Partition[] => labelled(statusLabel(status));
  const stored = heldOrDisabled.find(each => each === state);
  if (longUrl !== undefined) {
    const active: Partition = { pk: urlKey(ownerId, longUrl), index: 'links-by-url' };
    if (state === undefined) return [active, ...heldOrDisabled.flatMap(withStatus)];
    return stored === undefined ? [active] : withStatus(stored);
  }
  if (tag !== undefined) return labelled(tagLabel(tag));
  if (stored !== undefined) return withStatus(stored);
  return ownerPartitions(ownerId).map(pk => ({ pk, index: 'links-by-owner' }));
}

export function listByDomain(dynamo: Dynamo, { domain, limit, cursor }: DomainQuery): Promise<ListPage> {
  const partitions = sitePartitions(domain).map((pk): Partition => ({ pk, index: 'links-by-site' }));
  const walk = { partitions, order: 'newest', cursor } as const;
  return pageOf(dynamo, walk, { limit, windowMax: Math.max(windowMax, limit + 1) }, ({ url = '' }) =>
    leadsTo(url, domain),
  );
}

/**
 * A walk over links in the order of their places, through an index or the entries of a label, both spread over several
 * partitions. It returns where links are, not their contents: the records are read from the table afterwards, so that a
 * page never shows stale data from an index that lags a moment behind.
 */
export interface Walk {
  readonly partitions: readonly Partition[];
  /** Only links created at this time or later. */
  readonly createdFrom?: number | undefined;
  /** Only links created before this time. */
  readonly createdTo?: number | undefined;
  readonly order: 'newest' | 'oldest';
  readonly cursor: string | undefined;
}

export interface Partition {
  readonly pk: string;
  /** Undefined for entries in the table itself. */
  readonly index?: IndexName;
}

/** The places after the cursor, at most `max` of them. */
export async function nextPlaces(
  dynamo: Dynamo,
  { partitions, order, cursor, createdFrom, createdTo }: Walk,
  max: number,
): Promise<{ places: string[]; isEnd: boolean }> {
  const descending = order === 'newest';
  const [firstTime, lastTime] = descending ? [createdTo, createdFrom] : [createdFrom, createdTo];
  const start = cursor ?? (firstTime === undefined ? undefined : placesFrom(firstTime));
  const range = start === undefined ? undefined : descending ? { below: start } : { above: start };
  const pages = await Promise.all(
    partitions.map(partition =>
      dynamo.query<{ sk: string; place?: string }>({
        ...partition,
        descending,
        limit: max,
        ...(range === undefined ? {} : { range }),
      }),
    ),
  );
  // A link that has just changed may still be at its old place, too.
  const all = [...new Set(pages.flatMap(({ items }) => items.map(({ sk, place }) => place ?? sk)))].sort(
    (a, b) => (a < b === descending ? 1 : -1),
  );
  const end = lastTime === undefined ? undefined : placesFrom(lastTime);
  const places = all.slice(0, max).filter(place => end === undefined || place > end === descending);
  const isPast = places.length < Math.min(all.length, max);
  return { places, isEnd: isPast || (all.length <= max && pages.every(({ next }) => next === undefined)) };
}

/** The records at these places, in that order; a place that its link has left returns none. */
export async function rowsAt(dynamo: Dynamo, places: readonly string[]): Promise<LinkRow[]> {
  const rows = await dynamo.getMany<LinkRow>(places.map(place => linkKey(codeOfPlace(place))));
  return rows.filter((row, position): row is LinkRow => row?.place === places[position]);
}

/** A page of matching links from the next `windowMax`: a rare match returns a short page and a cursor. */
export async function pageOf(
  dynamo: Dynamo,
  walk: Walk,
  { limit, windowMax }: { readonly limit: number; readonly windowMax: number },
  isWanted: (row: LinkRow) => boolean,
): Promise<ListPage> {
  const { places, isEnd } = await nextPlaces(dynamo, checked(walk), windowMax);
  const wanted = (await rowsAt(dynamo, places)).filter(isWanted);
  const page = wanted.slice(0, limit);
  const links = page.map(linkOf);
  if (wanted.length > limit) return { links, nextCursor: page.at(-1)!.place };
  return { links, nextCursor: isEnd ? undefined : places.at(-1) };
}

/** Rejects a cursor that was never issued. */
export function checked(walk: Walk): Walk {
  if (walk.cursor === undefined || placePattern.test(walk.cursor)) return walk;
  throw new Problem('invalid_request', {
    detail: 'This cursor is not valid.',
    fields: { field: 'cursor' },
  });
}
