/** Short messages at the edge of the page: an action succeeded, failed, or can still be undone. */
import { useState } from 'preact/hooks';
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

export function showProblem(error: unknown): void {
  showToast(messageOf(error), { isProblem: true });
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

const tickMs = 1_600;

async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Browsers offer the clipboard on https and localhost only.
    const field = document.createElement('textarea');
    field.value = text;
    field.className = 'visually-hidden';
    (document.querySelector('dialog[open]') ?? document.body).append(field);
    field.select();
    const isCopied = document.execCommand('copy');
    field.remove();
    return isCopied;
  }
}

export async function copyWithToast(text: string): Promise<void> {
  if (await copyText(text)) showToast(texts.copied(text));
  else showToast(texts.errors.copy, { isProblem: true });
}

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (): Promise<void> => {
    if (!(await copyText(text))) return void showToast(texts.errors.copy, { isProblem: true });
    setCopied(true);
    browserClock.after(tickMs, () => setCopied(false));
  };
  return (
    <IconButton
      class={isCopied ? 'copy-button copied' : 'copy-button'}
      label={isCopied ? texts.actions.copied : label}
      icon={isCopied ? 'check' : 'copy'}
      size={16}
      onClick={event => {
        event.preventDefault();
        event.stopPropagation();
        void copy();
      }}
    />
  );
}
