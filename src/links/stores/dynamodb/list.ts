/** Pages of links: an owner's, and those that lead to a domain. Each call looks at a bounded number of links. */
import type { Dynamo } from '../../../engines/dynamodb/dynamodb.ts';
import { leadsTo } from '../../host-match.ts';
import { isFiltered, isListed } from '../../list-match.ts';
import type { DomainQuery, ListPage, ListQuery } from '../../store.ts';
import { pageOf, type Walk } from './index-walk.ts';
import { labelPartitions, ownerPartitions, sitePartitions } from './keys.ts';
import { statusLabel, tagLabel } from './labels.ts';
import { linkOf } from './rows.ts';

/** Links looked at per call where a filter decides which are wanted: two reads of a hundred, side by side. */
const windowMax = 200;

export function listLinks(dynamo: Dynamo, query: ListQuery): Promise<ListPage> {
  const { limit } = query;
  const window = isFiltered(query) ? Math.max(windowMax, limit + 1) : limit + 1;
  return pageOf(dynamo, walkOf(query), { limit, windowMax: window }, row => isListed(linkOf(row), query));
}

/** The most selective way through the links in their order. */
function walkOf({ ownerId, tag, state, order, cursor }: ListQuery): Walk {
  const isStored = state === 'disabled' || state === 'quarantined' || state === 'blocked';
  const label = tag === undefined ? (isStored ? statusLabel(state) : undefined) : tagLabel(tag);
  if (label === undefined) {
    return { partitions: ownerPartitions(ownerId), index: 'links-by-owner', order, cursor };
  }
  return { partitions: labelPartitions(ownerId, label), index: undefined, order, cursor };
}

export function listByDomain(dynamo: Dynamo, { domain, limit, cursor }: DomainQuery): Promise<ListPage> {
  const partitions = sitePartitions(domain);
  const walk = { partitions, index: 'links-by-site', order: 'newest', cursor } as const;
  return pageOf(dynamo, walk, { limit, windowMax: Math.max(windowMax, limit + 1) }, ({ url = '' }) =>
    leadsTo(url, domain),
  );
}
