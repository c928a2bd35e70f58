/**
 * Keys that work anywhere but in a text field. A page adds its own while it is shown; those added last win. A
 * shortcut may be two keys in a row, such as `g l`.
 */
import { browserClock } from '../../../../base/browser-clock.ts';
import { overlay } from './overlay.ts';

export type KeyTable = Readonly<Record<string, () => void>>;

const secondKeyMaxMs = 1_200;
const tables: KeyTable[] = [];
let firstKey = '';
let forgetFirst = (): void => {};

/** The returned function takes the keys away again. */
export function onKeys(table: KeyTable): () => void {
  tables.push(table);
  return () => {
    tables.splice(tables.indexOf(table), 1);
  };
}

export function handleKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.altKey || event.isComposing) return;
  const action = actionFor(event);
  if (action === undefined) return;
  event.preventDefault();
  action();
}

function actionFor(event: KeyboardEvent): (() => void) | undefined {
  const isCommand = event.metaKey || event.ctrlKey;
  if (isCommand && event.key.toLowerCase() === 'k') return find('mod+k');
  if (isCommand || isTyping(event.target) || overlay.get().kind !== 'none') return undefined;
  const combined = firstKey === '' ? undefined : find(`${firstKey} ${event.key}`);
  forgetFirst();
  firstKey = '';
  const action = combined ?? find(event.key);
  if (action === undefined) rememberFirst(event.key);
  return action;
}

/** If some shortcut begins with it. */
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
