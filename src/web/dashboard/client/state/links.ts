/**
 * The account's links, held in the browser, which makes search, filters and sorting instant. They are read page by page
 * in the background, newest first, up to a bound; beyond it a search also asks the server.
 */
import { browserClock } from '../../../../base/clock.ts';
import { linksPerPage, listLinks, readTotals, totalsMax } from '../api/calls.ts';
import { type ApiProblem, isAbort } from '../api/request.ts';
import type { LinkTotal, LinkView } from '../api/types.ts';
import { prepareForSearch } from '../links/find.ts';
import { createStore } from './store.ts';

export interface LinkIndex {
  readonly links: readonly LinkView[];
  readonly state: 'idle' | 'loading' | 'complete' | 'partial' | 'failed';
  readonly problem: ApiProblem | undefined;
  /** For a partial list: all other links were created before this time. */
  readonly olderThan: string | undefined;
}

const linksMax = 20_000;
/** Pages read before the list is rendered again: rendering after each of two hundred would cost more than reading. */
const pagesPerShow = 10;

const empty: LinkIndex = { links: [], state: 'idle', problem: undefined, olderThan: undefined };
export const linkIndex = createStore<LinkIndex>(empty);

let reading: AbortController | undefined;
/** Links that are being deleted: the server may still list them for a while. */
const leaving = new Set<string>();
const staying = ({ shortCode }: LinkView): boolean => !leaving.has(shortCode);

/** Our changes, numbered: links that were read from the server before a change must not replace it. */
const ours = new Map<string, { readonly link: LinkView; readonly change: number }>();
let changes = 0;

/**
 * Reads the links if they are not loaded; loaded ones may have been changed elsewhere, so their newest page is
 * reloaded.
 */
export function ensureLinks(): void {
  const { state } = linkIndex.get();
  if (state === 'idle' || state === 'failed') void readAll();
  else if (state !== 'loading') void readNewest();
}

export function reloadLinks(): void {
  reading?.abort();
  void readAll();
}

/** Another user may sign in next. */
export function forgetLinks(): void {
  reading?.abort();
  leaving.clear();
  ours.clear();
  linkIndex.set(empty);
}

export const putLink = (link: LinkView): void => putLinks([link]);

export function putLinks(changed: readonly LinkView[]): void {
  if (changed.length === 0) return;
  const index = linkIndex.get();
  const byCode = new Map(changed.map(link => [link.shortCode, link]));
  for (const link of changed) {
    leaving.delete(link.shortCode);
    changes += 1;
    ours.set(link.shortCode, { link, change: changes });
  }
  const known = index.links.map(link => {
    const next = byCode.get(link.shortCode);
    byCode.delete(link.shortCode);
    return next ?? link;
  });
  // The newest first.
  linkIndex.set({ ...index, links: [...[...byCode.values()].reverse(), ...known] });
}

export function takeLinks(codes: readonly string[]): void {
  for (const code of codes) leaving.add(code);
  const index = linkIndex.get();
  linkIndex.set({ ...index, links: index.links.filter(staying) });
}

async function readNewest(): Promise<void> {
  const abort = new AbortController();
  const since = changes;
  reading?.abort();
  reading = abort;
  try {
    const { links: read, nextCursor } = await listLinks({ signal: abort.signal });
    if (abort.signal.aborted) return;
    const links = withOurs(read, since);
    const known = new Set(links.map(({ shortCode }) => shortCode));
    const index = linkIndex.get();
    // If one page has all links, links that are not on it were deleted.
    const rest = nextCursor === null ? [] : index.links.filter(({ shortCode }) => !known.has(shortCode));
    linkIndex.set({ ...index, links: [...links, ...rest].filter(staying) });
  } catch (error) {
    if (isAbort(error)) return;
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
    if (cursor === undefined) show(withOurs(links, since), 'complete');
    // Some that were created at the same time may be on the next page.
    else show(withOurs(links, since), 'partial', isoTime(Date.parse(links.at(-1)!.createdAt) + 1));
  } catch (error) {
    if (isAbort(error)) return;
    linkIndex.set({ ...linkIndex.get(), state: 'failed', problem: error as ApiProblem });
  }
}

const isoTime = (timeMs: number): string => new Date(timeMs).toISOString();

/** Known links that were not read yet stay until they are. */
function show(read: readonly LinkView[], state: LinkIndex['state'], olderThan?: string): void {
  const before = linkIndex.get().links;
  const rest = state === 'complete' || before.length <= read.length ? [] : before.slice(read.length);
  const known = new Set(read.map(({ shortCode }) => shortCode));
  const links = [...read, ...rest.filter(({ shortCode }) => !known.has(shortCode))];
  linkIndex.set({ links: links.filter(staying), state, problem: undefined, olderThan });
}

/** The links that were read, with our changes since the reading began; links created since then come first. */
function withOurs(read: readonly LinkView[], since: number): readonly LinkView[] {
  const newer = new Map<string, LinkView>();
  for (const [code, { link, change }] of ours) if (change > since) newer.set(code, link);
  if (newer.size === 0) return read;
  const links = read.map(link => newer.get(link.shortCode) ?? link);
  for (const { shortCode } of read) newer.delete(shortCode);
  return [...[...newer.values()].reverse(), ...links];
}

/** Clicks per link, requested as rows come into view and cached for a while. */
export const linkTotals = createStore<ReadonlyMap<string, LinkTotal>>(new Map());

/** Rows that come into view within this time are requested together. */
const gatherMs = 60;
const freshMs = 55_000;

const askedAtMs = new Map<string, number>();
const wanted = new Set<string>();
let isGathering = false;

export function wantTotals(codes: readonly string[]): void {
  const nowMs = browserClock.now();
  for (const code of codes) {
    if (nowMs - (askedAtMs.get(code) ?? Number.NEGATIVE_INFINITY) > freshMs) wanted.add(code);
  }
  if (wanted.size === 0 || isGathering) return;
  isGathering = true;
  browserClock.after(gatherMs, () => void ask());
}

export function forgetTotals(): void {
  askedAtMs.clear();
  wanted.clear();
  linkTotals.set(new Map());
}

async function ask(): Promise<void> {
  const codes = [...wanted].slice(0, totalsMax);
  for (const code of codes) {
    wanted.delete(code);
    askedAtMs.set(code, browserClock.now());
  }
  try {
    const read = await readTotals(codes);
    linkTotals.set(new Map([...linkTotals.get(), ...read.map(total => [total.shortCode, total] as const)]));
  } catch {
    // A row without its number is still useful; the number is requested again when the row comes into view again.
    for (const code of codes) askedAtMs.delete(code);
  }
  isGathering = false;
  if (wanted.size > 0) wantTotals([]);
}
