/** Whether a link belongs on a page of its owner's list, for engines that look at the record itself. */
import { type Link, stateOf } from './link.ts';
import { foldCase } from './search-text.ts';
import type { ListFilter, ListQuery } from './store.ts';

/** Whether it takes a look at a link to tell if it belongs there. */
export const isFiltered = ({ tag, state, search }: ListFilter): boolean =>
  tag !== undefined || state !== undefined || search !== undefined;

export function isListed(link: Link, query: ListQuery): boolean {
  if (link.ownerId !== query.ownerId || link.status === 'deleted') return false;
  if (query.tag !== undefined && !link.tags.includes(query.tag)) return false;
  if (query.state !== undefined && stateOf(link, query.now) !== query.state) return false;
  if (query.search === undefined) return true;
  const needle = foldCase(query.search);
  return [link.code, link.longUrl, link.title ?? ''].some(text => foldCase(text).includes(needle));
}
