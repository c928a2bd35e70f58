/** The current view: path and query, kept in the address bar; the dialog over the page; the keys that work on it. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import type { LinkView } from '../api/types.ts';
import { session } from './session.ts';
import { createStore, useStore } from './store.ts';

interface Place {
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

/** Asks before Back or closing the tab loses something that cannot be shown again. */
let askBeforeLeaving: (() => void) | undefined;
let isReturning = false;

interface HistoryState {
  /** How many entries of this tab's history are before this one. */
  readonly step: number;
}

/** An entry that the browser made, for a `#` link, has the step of the one before. */
const stepOf = (state: unknown): number => (state as HistoryState | null)?.step ?? step;
let step = 0;
step = stepOf(history.state);
history.replaceState({ step } satisfies HistoryState, '');

const push = (address: string): void => {
  step += 1;
  history.pushState({ step } satisfies HistoryState, '', address);
};

addEventListener('popstate', event => {
  const to = stepOf((event as PopStateEvent).state);
  if (isReturning) isReturning = false;
  else if (askBeforeLeaving === undefined || to === step) {
    step = to;
    place.set(read());
  } else {
    isReturning = true;
    history.go(step - to);
    askBeforeLeaving();
  }
});

/** Asks before the page is left, until the returned function is called. */
export function holdPage(ask: () => void): () => void {
  const hold = (event: Event): void => event.preventDefault();
  askBeforeLeaving = ask;
  addEventListener('beforeunload', hold);
  return () => {
    askBeforeLeaving = undefined;
    removeEventListener('beforeunload', hold);
  };
}

export const usePlace = (): Place => useStore(place);

export function hrefOf(path: string): string {
  return path === '/' ? root : root + path;
}

export const goTo = (path: string): void => show(hrefOf(path));

function show(href: string): void {
  push(href);
  place.set(read());
  scrollTo(0, 0);
}

/** Changes the query in place: a filter is not a step in the history. */
export function setQuery(
  changes: Readonly<Record<string, string | undefined>>,
  { isStep = false } = {},
): void {
  const query = new URLSearchParams(place.get().query);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') query.delete(name);
    else query.set(name, value);
  }
  const address = location.pathname + (query.size === 0 ? '' : `?${query}`) + location.hash;
  if (isStep) push(address);
  else history.replaceState({ step } satisfies HistoryState, '', address);
  place.set(read());
}

const typingMs = 250;

/**
 * A text of the query that is typed: changed at once, and in the address when typing pauses, because browsers limit how
 * often a page may change it.
 */
export function useQueryText(name: string): [text: string, setText: (text: string) => void] {
  const asked = usePlace().query.get(name) ?? '';
  const [text, setText] = useState(asked);
  const written = useRef(asked);
  useEffect(() => {
    if (asked === written.current) return;
    written.current = asked;
    setText(asked);
  }, [asked]);
  useEffect(() => {
    if (text === written.current) return;
    return browserClock.after(typingMs, () => {
      written.current = text;
      setQuery({ [name]: text });
    });
  }, [text]);
  return [text, setText];
}

/** Follows links to the dashboard without reloading the page; other links are left to the browser. */
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
    !(address.pathname === root || address.pathname.startsWith(`${root}/`)) ||
    // A part of this page, which the browser scrolls to and focuses.
    anchor.getAttribute('href')?.startsWith('#')
  )
    return;
  event.preventDefault();
  show(address.pathname + address.search);
}

type Overlay =
  | { readonly kind: 'none' }
  /** `like` is a link to duplicate. */
  | { readonly kind: 'create'; readonly longUrl: string; readonly like?: LinkView }
  | { readonly kind: 'import'; readonly text?: string }
  | { readonly kind: 'share'; readonly link: LinkView }
  | { readonly kind: 'edit'; readonly link: LinkView; readonly onSaved?: (link: LinkView) => void }
  | { readonly kind: 'qr'; readonly link: LinkView }
  | { readonly kind: 'palette' }
  | { readonly kind: 'help' }
  | { readonly kind: 'more' };

/** The dialog over the page: at most one at a time, opened from anywhere. */
export const overlay = createStore<Overlay & { readonly number: number }>({ kind: 'none', number: 0 });

/** Numbered, so that what was typed into the last one does not stay in the next one of the same kind. */
export const openOverlay = (next: Overlay): void =>
  overlay.set({ ...next, number: overlay.get().number + 1 });
export const closeOverlay = (): void => openOverlay({ kind: 'none' });

type KeyTable = Readonly<Record<string, () => void>>;

const secondKeyMaxMs = 1_200;
/** The keys that repeat while they are held. */
const movingKeys = ['j', 'k'];
const tables: KeyTable[] = [];
let firstKey = '';
let forgetFirst = (): void => {};

/**
 * Keys that work anywhere but in a text field or a dialog. A page adds its own while it is shown; those added last win. A shortcut
 * may be two keys in a row, such as `g l`. The returned function removes the keys again.
 */
export function onKeys(table: KeyTable): () => void {
  tables.push(table);
  return () => {
    tables.splice(tables.indexOf(table), 1);
  };
}

const shortcutsKey = 'terse-shortcuts';
/** Users whose tools type keys, such as voice control, can switch off shortcuts without a modifier. */
export const areShortcutsOn = (): boolean => globalThis.localStorage?.getItem(shortcutsKey) !== 'off';
export function switchShortcuts(isOn: boolean): void {
  if (isOn) localStorage.removeItem(shortcutsKey);
  else localStorage.setItem(shortcutsKey, 'off');
}

/** Keys and pasted addresses are for the page only while no dialog is over it and someone is signed in. */
export const isPageActive = (): boolean =>
  session.get().kind === 'signedIn' &&
  overlay.get().kind === 'none' &&
  document.querySelector('dialog:modal') === null;

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const action = actionFor(event);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function actionFor(event: KeyboardEvent): (() => void) | undefined {
  const isCommand = event.metaKey || event.ctrlKey;
  const isActive = isPageActive();
  // In the palette its own shortcut does nothing, and neither does the browser's.
  if (isCommand && event.key.toLowerCase() === 'k')
    return isActive || overlay.get().kind === 'palette' ? find('mod+k') : undefined;
  if (isCommand || !isActive || isTyping(event.target)) return undefined;
  if (event.key.length === 1 && !areShortcutsOn()) return undefined;
  // A held key must not decide about one case after another.
  if (event.repeat && !movingKeys.includes(event.key)) return undefined;
  const combined = firstKey === '' ? undefined : find(`${firstKey} ${event.key}`);
  forgetFirst();
  firstKey = '';
  const action = combined ?? find(event.key);
  if (action === undefined) rememberFirst(event.key);
  return action;
}

/** Remembers a key that begins a shortcut of two keys. */
function rememberFirst(key: string): void {
  if (!tables.some(table => Object.keys(table).some(keys => keys.startsWith(`${key} `)))) return;
  firstKey = key;
  forgetFirst = browserClock.after(secondKeyMaxMs, () => {
    firstKey = '';
  });
}

function find(keys: string): (() => void) | undefined {
  return tables.findLast(table => Object.hasOwn(table, keys))?.[keys];
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !['checkbox', 'radio', 'button'].includes(target.type);
  return (
    target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement
  );
}
