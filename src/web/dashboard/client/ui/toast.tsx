/**
 * Short messages at the edge of the page: an action succeeded, failed, or can still be undone. They are in the top layer
 * and, while a dialog is open, inside of it, because everything else cannot be clicked or heard then.
 */
import { render } from 'preact';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { messageOf } from '../api/request.ts';
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
export const undoMs = 8_000;
const toastsMax = 4;

const toasts = createStore<readonly Toast[]>([]);
/** For screen readers only; the number makes the same text a new one. */
const announced = createStore<{ readonly text: string; readonly id: number }>({ text: '', id: 0 });
let lastId = 0;
let host: HTMLElement | undefined;

export function showToast(
  text: string,
  {
    isProblem = false,
    action,
    forMs = isProblem ? problemShownMs : shownMs,
  }: {
    isProblem?: boolean;
    action?: Toast['action'];
    forMs?: number;
  } = {},
): number {
  lastId += 1;
  const id = lastId;
  const toast: Toast = { id, text, isProblem, ...(action !== undefined && { action }) };
  placeToasts();
  toasts.set([...toasts.get(), toast].slice(-toastsMax));
  browserClock.after(forMs, () => dismissToast(id));
  return id;
}

export const showUndo = (text: string, undo: () => void): number =>
  showToast(text, { action: { label: texts.actions.undo, run: undo }, forMs: undoMs });

export function showProblem(error: unknown): void {
  showToast(messageOf(error), { isProblem: true });
}

export function dismissToast(id: number): void {
  toasts.set(toasts.get().filter(toast => toast.id !== id));
}

/** Says what only changes a label, which is not read out. */
export function announce(text: string): void {
  placeToasts();
  announced.set({ text, id: announced.get().id + 1 });
}

/** Puts the messages above whatever is open. A dialog calls it when it opens, and when it is about to go. */
export function placeToasts(): void {
  host ??= newHost();
  const dialogs = document.querySelectorAll<HTMLElement>('dialog:modal');
  // The last one that was opened comes last: dialogs over others are rendered behind or inside of them.
  const place = dialogs.item(dialogs.length - 1) ?? document.body;
  if (host.parentElement !== place) place.append(host);
  else host.hidePopover();
  host.showPopover();
}

function newHost(): HTMLElement {
  const element = document.createElement('div');
  element.className = 'toasts';
  element.popover = 'manual';
  element.role = 'status';
  element.ariaLive = 'polite';
  render(<Toasts />, element);
  return element;
}

function Toasts() {
  const shown = useStore(toasts);
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
                dismissToast(id);
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
