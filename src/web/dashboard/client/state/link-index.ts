/**
 * The account's links, held in the browser: what makes search, filters and sorting instant. They are read page by
 * page in the background, newest first, up to a bound; beyond it a search also asks the server.
 */
import { linksPerPage, listLinks } from '../api/links.ts';
import { type ApiProblem, isAbort } from '../api/problem.ts';
import type { LinkView } from '../api/types.ts';
import { prepareForSearch } from '../links/find.ts';
import { createStore } from './store.ts';

export interface LinkIndex {
  readonly links: readonly LinkView[];
  readonly state: 'idle' | 'loading' | 'complete' | 'partial' | 'failed';
  readonly problem: ApiProblem | undefined;
}

export const linksMax = 20_000;
/** Pages read before the list is drawn anew: drawing after each of two hundred would cost more than reading. */
const pagesPerShow = 10;

const empty: LinkIndex = { links: [], state: 'idle', problem: undefined };
export const linkIndex = createStore<LinkIndex>(empty);

let reading: AbortController | undefined;
/** On their way out: the server may still list them for a while. */
const leaving = new Set<string>();
const staying = ({ shortCode }: LinkView): boolean => !leaving.has(shortCode);

/** Changes of ours, numbered: what was read of the server before one must not take its place. */
const ours = new Map<string, { readonly link: LinkView; readonly change: number }>();
let changes = 0;

/** Reads what is not there; what is there already may have been changed elsewhere and gets its newest page anew. */
export function ensureLinks(): void {
  const { state } = linkIndex.get();
  if (state === 'idle' || state === 'failed') void readAll();
  else if (state !== 'loading') void readNewest();
}

export function reloadLinks(): void {
  reading?.abort();
  void readAll();
}

/** Somebody else may sign in next. */
export function forgetLinks(): void {
  reading?.abort();
  leaving.clear();
  ours.clear();
  linkIndex.set(empty);
}

export function putLink(link: LinkView): void {
  leaving.delete(link.shortCode);
  changes += 1;
  ours.set(link.shortCode, { link, change: changes });
  const index = linkIndex.get();
  const at = index.links.findIndex(({ shortCode }) => shortCode === link.shortCode);
  const links = at === -1 ? [link, ...index.links] : index.links.with(at, link);
  linkIndex.set({ ...index, links });
}

export function takeLink(code: string): void {
  leaving.add(code);
  const index = linkIndex.get();
  linkIndex.set({ ...index, links: index.links.filter(({ shortCode }) => shortCode !== code) });
}

async function readNewest(): Promise<void> {
  const since = changes;
  try {
    const { links: read, nextCursor } = await listLinks({});
    const links = withOurs(read, since);
    const known = new Set(links.map(({ shortCode }) => shortCode));
    const index = linkIndex.get();
    // One page may be all there is, and then what is not on it is gone.
    const rest = nextCursor === null ? [] : index.links.filter(({ shortCode }) => !known.has(shortCode));
    linkIndex.set({ ...index, links: [...links, ...rest].filter(staying) });
  } catch (error) {
    linkIndex.set({ ...linkIndex.get(), state: 'failed', problem: error as ApiProblem });
  }
}

async function readAll(): Promise<void> {
  const abort = new AbortController();
  const since = changes;
  reading = abort;
  linkIndex.set({ ...linkIndex.get(), state: 'loading', problem: undefined });
  const links: LinkView[] = [];
  let cursor: string | undefined;
  try {
    for (let page = 0; page * linksPerPage < linksMax; page += 1) {
      const answer = await listLinks({ ...(cursor !== undefined && { cursor }), signal: abort.signal });
      if (abort.signal.aborted) return;
      links.push(...answer.links);
      prepareForSearch(answer.links);
      cursor = answer.nextCursor ?? undefined;
      if (cursor === undefined) break;
      if (page % pagesPerShow === 0) show(withOurs(links, since), 'loading');
    }
    show(withOurs(links, since), cursor === undefined ? 'complete' : 'partial');
  } catch (error) {
    if (isAbort(error)) return;
    linkIndex.set({ ...linkIndex.get(), state: 'failed', problem: error as ApiProblem });
  }
}

/** What is known of links that were not read yet stays until they are. */
function show(read: readonly LinkView[], state: LinkIndex['state']): void {
  const before = linkIndex.get().links;
  const rest = state === 'complete' || before.length <= read.length ? [] : before.slice(read.length);
  const known = new Set(read.map(({ shortCode }) => shortCode));
  const links = [...read, ...rest.filter(({ shortCode }) => !known.has(shortCode))];
  linkIndex.set({ links: links.filter(staying), state, problem: undefined });
}

/** What was read, as we have changed it since the reading began; what we have made since then comes first. */
function withOurs(read: readonly LinkView[], since: number): readonly LinkView[] {
  const newer = new Map<string, LinkView>();
  for (const [code, { link, change }] of ours) if (change > since) newer.set(code, link);
  if (newer.size === 0) return read;
  const links = read.map(link => newer.get(link.shortCode) ?? link);
  for (const { shortCode } of read) newer.delete(shortCode);
  return [...[...newer.values()].reverse(), ...links];
}
