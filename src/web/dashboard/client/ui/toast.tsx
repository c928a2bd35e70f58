/**
 * Short messages at the edge of the page: an action succeeded, failed, or can still be undone. They are in the top layer
 * and, while a dialog is open, inside of it, because everything else cannot be clicked or heard then.
 */
import { render } from 'preact';
import { useEffect } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { isAbort, messageOf } from '../api/request.ts';
import { createStore, useStore } from '../state/store.ts';
import { Icon, IconButton } from './button.tsx';

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shownMs = 5_000;
const problemShownMs = 8_000;
/** How long an action can be undone. */
const undoMs = 8_000;
const toastsMax = 4;

const toasts = createStore<readonly Toast[]>([]);
/** For screen readers only; the number makes the same text a new one. */
const announced = createStore<{ readonly text: string; readonly id: number }>({ text: '', id: 0 });
let lastId = 0;
let host: HTMLElement | undefined;

interface Life {
  leftMs: number;
  sinceMs: number;
  cancel: () => void;
  /** Called when it disappears without its action. */
  readonly onEnd: () => void;
}

const lives = new Map<number, Life>();
/** Whether a pointer or the keyboard is on the messages: they stay while someone reads or aims. */
let isHeld = false;

interface ToastOptions {
  readonly isProblem?: boolean;
  readonly action?: Toast['action'];
  readonly forMs?: number;
  readonly onEnd?: () => void;
}

export function showToast(
  text: string,
  {
    isProblem = false,
    action,
    forMs = isProblem ? problemShownMs : shownMs,
    onEnd = () => {},
  }: ToastOptions = {},
): number {
  lastId += 1;
  const id = lastId;
  const toast: Toast = { id, text, isProblem, ...(action !== undefined && { action }) };
  placeToasts();
  const shown = toasts.get();
  // Messages that can still be undone are dismissed last.
  if (shown.length >= toastsMax)
    dismissToast((shown.find(each => each.action === undefined) ?? shown[0]!).id);
  toasts.set([...toasts.get(), toast]);
  lives.set(id, { leftMs: forMs, sinceMs: 0, cancel: () => {}, onEnd });
  if (!isHeld) count(id);
  return id;
}

function count(id: number): void {
  const life = lives.get(id);
  if (life === undefined) return;
  life.sinceMs = browserClock.now();
  life.cancel = browserClock.after(life.leftMs, () => dismissToast(id));
}

function hold(holds: boolean): void {
  if (holds === isHeld) return;
  isHeld = holds;
  for (const [id, life] of lives) {
    life.cancel();
    if (holds) life.leftMs -= browserClock.now() - life.sinceMs;
    else count(id);
  }
}

/** `onEnd` is called when it can be undone no longer. */
export const showUndo = (text: string, undo: () => void, onEnd?: () => void): number =>
  showToast(text, {
    action: { label: texts.actions.undo, run: undo },
    forMs: undoMs,
    ...(onEnd !== undefined && { onEnd }),
  });

/** Takes the action of the newest message that has one. */
export function undoLast(): void {
  const toast = toasts.get().findLast(({ action }) => action !== undefined);
  if (toast === undefined) return;
  withdrawToast(toast.id);
  toast.action?.run();
}

/** An aborted request is not an error. */
export function showProblem(error: unknown): void {
  if (isAbort(error)) return;
  showToast(messageOf(error), { isProblem: true });
}

export function dismissToast(id: number): void {
  const life = lives.get(id);
  withdrawToast(id);
  life?.onEnd();
}

/** Removes a message without calling its `onEnd`. */
export function withdrawToast(id: number): void {
  lives.get(id)?.cancel();
  lives.delete(id);
  toasts.set(toasts.get().filter(toast => toast.id !== id));
}

/** Tells screen readers a change that is only visible in a label, which they do not read out. */
export function announce(text: string): void {
  placeToasts();
  announced.set({ text, id: announced.get().id + 1 });
}

/** Puts the messages above whatever is open. A dialog calls it when it opens, and when it is about to go. */
export function placeToasts(): void {
  host ??= newHost();
  const focused = document.activeElement;
  const dialogs = document.querySelectorAll<HTMLElement>('dialog:modal');
  // The last one that was opened comes last: dialogs over others are rendered behind or inside of them.
  const place = dialogs.item(dialogs.length - 1) ?? document.body;
  if (host.parentElement !== place) place.append(host);
  else host.hidePopover();
  host.showPopover();
  if (focused instanceof HTMLElement && host.contains(focused)) focused.focus();
}

function newHost(): HTMLElement {
  const element = document.createElement('div');
  element.className = 'toasts';
  element.popover = 'manual';
  element.role = 'status';
  element.ariaLive = 'polite';
  let isPointedAt = false;
  const update = (): void =>
    hold((isPointedAt && element.matches(':hover')) || element.contains(document.activeElement));
  const onPointer = (event: Event): void => {
    // A finger that was lifted points at nothing, whatever `:hover` says.
    isPointedAt = event.type === 'pointerenter' && (event as PointerEvent).pointerType === 'mouse';
    update();
  };
  for (const name of ['pointerenter', 'pointerleave']) element.addEventListener(name, onPointer);
  for (const name of ['focusin', 'focusout']) element.addEventListener(name, update);
  render(<Toasts onShown={update} />, element);
  return element;
}

function Toasts({ onShown }: { readonly onShown: () => void }) {
  const shown = useStore(toasts);
  // A button that is gone has no focus, and sends no event about it.
  useEffect(onShown, [shown]);
  const { text: note, id: noteId } = useStore(announced);
  return (
    <>
      <p key={`note ${noteId}`} class="visually-hidden">
        {note}
      </p>
      {shown.map(({ id, text, isProblem, action }) => (
        <div key={id} class={isProblem ? 'toast toast-problem' : 'toast'}>
          <Icon name={isProblem ? 'ban' : 'check'} />
          <p>{text}</p>
          {action !== undefined && (
            <button
              type="button"
              class="toast-action"
              onClick={() => {
                withdrawToast(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton label={texts.actions.dismiss} icon="close" size={16} onClick={() => dismissToast(id)} />
        </div>
      ))}
    </>
  );
}
