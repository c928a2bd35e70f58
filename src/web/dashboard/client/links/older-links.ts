/** Links beyond those that are held in the browser: a search or filter asks the server for them, page by page. */
import { useMemo } from 'preact/hooks';
import { listLinks } from '../api/calls.ts';
import type { LinkPage, LinkView } from '../api/types.ts';
import { type Pages, usePages } from '../state/connection.ts';
import type { LinkIndex } from '../state/links.ts';
import type { Finding } from './find.ts';

/** Less than a page of the list, because a search costs the server more. */
const foundMax = 100;

interface OlderLinks {
  /** All known links, those that the server found last. */
  readonly links: readonly LinkView[];
  readonly pages: Pages<LinkPage>;
  /** Whether there may be older links that match. */
  readonly isNeeded: boolean;
  readonly isAsking: boolean;
}

/**
 * The server looks for one text in the code, the title and the destination. It is asked for the longest word, and the
 * other words are looked for here.
 */
export const wordForServer = (search: string): string | undefined =>
  search
    .split(/\s+/)
    .reduce((longest, word) => (word.length > longest.length ? word : longest), '')
    .slice(0, 200) || undefined;

export function useOlderLinks(
  { links: held, state, olderThan }: LinkIndex,
  { search, status, tag }: Pick<Finding, 'search' | 'status' | 'tag'>,
): OlderLinks {
  const word = wordForServer(search);
  const isNeeded = state === 'partial' && (word ?? status ?? tag) !== undefined;
  const query = { search: word, status, tag, createdTo: olderThan };
  const pages = usePages(
    isNeeded ? JSON.stringify(query) : '',
    async (cursor, signal): Promise<LinkPage> =>
      isNeeded ? listLinks({ limit: foundMax, ...query, cursor, signal }) : { links: [], nextCursor: null },
    (before, next) => ({ ...next, links: [...before.links, ...next.links] }),
  );
  const found = isNeeded && pages.isCurrent ? pages.value?.links : undefined;
  const links = useMemo(() => {
    if (found === undefined || found.length === 0) return held;
    const known = new Set(held.map(({ shortCode }) => shortCode));
    return [...held, ...found.filter(({ shortCode }) => !known.has(shortCode))];
  }, [held, found]);
  return { links, pages, isNeeded, isAsking: isNeeded && !pages.isCurrent && pages.problem === undefined };
}
