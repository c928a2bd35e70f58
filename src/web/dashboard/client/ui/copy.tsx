/** Copying the short link: the one thing everybody does. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { IconButton } from './button.tsx';
import { showToast } from './toast.tsx';

const tickMs = 1_600;

export async function copyText(text: string): Promise<boolean> {
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
