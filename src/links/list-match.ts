/** Whether a link belongs on a page of its owner's list, for engines that look at the record itself. */
import { leadsTo } from './host-match.ts';
import { type Link, stateOf } from './link.ts';
import { foldCase } from './search-text.ts';
import type { CountQuery, ListFilter } from './store.ts';

const filterNames = [
  'tag',
  'state',
  'search',
  'domain',
  'longUrl',
  'createdFrom',
  'createdTo',
] as const satisfies (keyof ListFilter)[];

/** Whether it takes a look at a link to tell if it belongs there. */
export const isFiltered = (filter: ListFilter): boolean =>
  filterNames.some(name => filter[name] !== undefined);

export function isListed(link: Link, query: Pick<CountQuery, 'ownerId' | 'now'> & ListFilter): boolean {
  const { tag, state, search, domain, longUrl, createdFrom, createdTo } = query;
  if (link.ownerId !== query.ownerId || link.status === 'deleted') return false;
  if (tag !== undefined && !link.tags.includes(tag)) return false;
  if (state !== undefined && stateOf(link, query.now) !== state) return false;
  if (longUrl !== undefined && link.longUrl !== longUrl) return false;
  if (createdFrom !== undefined && link.createdAt < createdFrom) return false;
  if (createdTo !== undefined && link.createdAt >= createdTo) return false;
  if (domain !== undefined && !leadsTo(link.longUrl, domain)) return false;
  if (search === undefined) return true;
  const needle = foldCase(search);
  return [link.code, link.longUrl, link.title ?? ''].some(text => foldCase(text).includes(needle));
}
