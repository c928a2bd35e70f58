/** Short news at the edge of the page: it was done, it failed, or it can still be undone. */
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { createStore, useStore } from '../state/store.ts';
import { IconButton } from './button.tsx';
import { Icon } from './icon.tsx';

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isProblem: boolean;
  readonly action?: { readonly label: string; readonly run: () => void };
}

const shownMs = 5_000;
const problemShownMs = 8_000;
const toastsMax = 4;

const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

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
  toasts.set([...toasts.get(), toast].slice(-toastsMax));
  browserClock.after(forMs, () => dismissToast(id));
  return id;
}

export function dismissToast(id: number): void {
  toasts.set(toasts.get().filter(toast => toast.id !== id));
}

export function Toasts() {
  const shown = useStore(toasts);
  return (
    <div class="toasts" role="status" aria-live="polite">
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
    </div>
  );
}
