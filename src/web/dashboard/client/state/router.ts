/** Where in the dashboard somebody is: the path below `/dashboard` and the query, kept in the address bar. */
import { createStore, useStore } from './store.ts';

export interface Place {
  /** Without `/dashboard`; `/` for the start. */
  readonly path: string;
  readonly query: URLSearchParams;
}

const root = '/dashboard';

const place = createStore<Place>(read());

function read(): Place {
  const path = location.pathname.slice(root.length).replace(/\/+$/, '');
  return { path: path === '' ? '/' : path, query: new URLSearchParams(location.search) };
}

addEventListener('popstate', () => place.set(read()));

export const usePlace = (): Place => useStore(place);
export const currentPlace = (): Place => place.get();

export function hrefOf(path: string): string {
  return path === '/' ? root : root + path;
}

export function goTo(path: string): void {
  history.pushState(null, '', hrefOf(path));
  place.set(read());
  scrollTo(0, 0);
}

/** Changes the query in place: a filter is not a step that one wants to go back through. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  { isStep = false } = {},
): void {
  const query = new URLSearchParams(place.get().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const address = location.pathname + (query.size === 0 ? '' : `?${query}`);
  if (isStep) history.pushState(null, '', address);
  else history.replaceState(null, '', address);
  place.set(read());
}

/** Follows links to the dashboard without loading the page anew; what a browser does itself is left to it. */
export function followLinks(event: MouseEvent): void {
  if (
    event.defaultPrevented ||
    event.button !== 0 ||
    event.metaKey ||
    event.ctrlKey ||
    event.shiftKey ||
    event.altKey
  )
    return;
  const anchor = (event.target as Element).closest('a');
  if (anchor === null || anchor.target !== '' || anchor.hasAttribute('download')) return;
  const address = new URL(anchor.href, location.href);
  if (
    address.origin !== location.origin ||
    !(address.pathname === root || address.pathname.startsWith(`${root}/`))
  )
    return;
  event.preventDefault();
  history.pushState(null, '', address.pathname + address.search);
  place.set(read());
  scrollTo(0, 0);
}
