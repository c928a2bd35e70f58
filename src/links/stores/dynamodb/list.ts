/** Pages of links: an owner's, and those that lead to a domain. Each call looks at a bounded number of links. */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { leadsTo } from '../../host-match.ts';
import type { LinkStatus } from '../../link.ts';
import { isFiltered, isListed } from '../../list-match.ts';
import type { CountPage, CountQuery, DomainQuery, ListPage, ListQuery } from '../../store.ts';
import { heldOrDisabled } from '../list-sources.ts';
import { checked, nextPlaces, type Partition, pageOf, rowsAt, type Walk } from './index-walk.ts';
import { labelPartitions, ownerPartitions, sitePartitions, urlKey } from './keys.ts';
import { statusLabel, tagLabel } from './labels.ts';
import { linkOf } from './rows.ts';

/** Links looked at per call where a filter decides which are wanted: two reads of a hundred, side by side. */
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

/** The most selective way through the links in their order; several of them where one has only a part. */
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
