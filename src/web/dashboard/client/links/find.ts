/** Searches, filters and sorts the loaded links. Pure, and fast enough for every key press. */
import type { LinkStatus, LinkView } from '../api/types.ts';

export const sorts = ['newest', 'oldest', 'clicks', 'edited', 'title'] as const;
export type Sort = (typeof sorts)[number];

export interface Finding {
  readonly search: string;
  readonly status: LinkStatus | undefined;
  readonly tag: string | undefined;
  readonly sort: Sort;
}

/** Lower-case text of each link, computed when links arrive or at the first search. */
const haystacks = new WeakMap<LinkView, string>();

/** Called for each page that arrives, so that the first letter of a search does not wait for all links. */
export function prepareForSearch(links: readonly LinkView[]): void {
  for (const link of links) haystackOf(link);
}

export function findLinks(
  links: readonly LinkView[],
  { search, status, tag, sort }: Finding,
  clicksOf: (link: LinkView) => number,
): readonly LinkView[] {
  const words = search
    .toLowerCase()
    .split(/\s+/)
    .filter(word => word !== '');
  const found = links.filter(
    link =>
      (status === undefined || link.status === status) &&
      (tag === undefined || link.tags.includes(tag)) &&
      words.every(word => haystackOf(link).includes(word)),
  );
  return sorted(found, sort, clicksOf);
}

function haystackOf(link: LinkView): string {
  let text = haystacks.get(link);
  if (text === undefined) {
    text = [link.shortCode, link.title ?? '', link.longUrl, ...link.tags].join('\n').toLowerCase();
    haystacks.set(link, text);
  }
  return text;
}

function sorted(links: LinkView[], sort: Sort, clicksOf: (link: LinkView) => number): LinkView[] {
  if (sort === 'newest') return links.sort((a, b) => compare(b.createdAt, a.createdAt));
  if (sort === 'oldest') return links.sort((a, b) => compare(a.createdAt, b.createdAt));
  if (sort === 'edited') return links.sort((a, b) => compare(b.updatedAt, a.updatedAt));
  if (sort === 'clicks') return links.sort((a, b) => clicksOf(b) - clicksOf(a));
  return links.sort((a, b) => compare(nameOf(a), nameOf(b)));
}

const nameOf = (link: LinkView): string => (link.title ?? link.shortCode).toLowerCase();
const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Every tag in use with its number of links, the most used first. */
export function tagsOf(links: readonly LinkView[]): readonly (readonly [tag: string, links: number])[] {
  const counts = new Map<string, number>();
  for (const { tags } of links) for (const tag of tags) counts.set(tag, (counts.get(tag) ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1] || compare(a[0], b[0]));
}
