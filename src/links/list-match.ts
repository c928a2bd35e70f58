/** Whether a link belongs on a page of a list, for engines that check the record itself. */
import { type Link, stateOf } from './link.ts';
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

/** Whether the record has to be read to decide if the link belongs there. */
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

/** A search ignores the case of ASCII letters. Engines fold other letters differently, so no engine folds them. */
export function foldCase(text: string): string {
  return text.replace(/[A-Z]+/g, letters => letters.toLowerCase());
}

/** A host name as the URL parser writes it, without a trailing dot; undefined for any other text. */
export function hostIn(text: string): string | undefined {
  // Anything else in the text would end up elsewhere in the URL.
  const url = /^[^\s/?#@:\\]+$/.test(text) ? URL.parse(`http://${text}/`) : null;
  return url?.hostname.replace(/\.$/, '') || undefined;
}

/** Whether a stored URL leads to a domain or to anything below it. */
export function leadsTo(longUrl: string, domain: string): boolean {
  const hostname = URL.parse(longUrl)?.hostname ?? '';
  return hostname === domain || hostname.endsWith(`.${domain}`);
}
