/** Copying and saving: buttons that say when it has worked, and what to do where the browser refuses. */
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { Button, IconButton } from './button.tsx';
import { announce, showToast } from './toast.tsx';

const tickMs = 2_000;

/** Whether it was copied. The text may still be on its way: browsers want to be asked while the user's click is fresh. */
export async function copyText(text: string | Promise<string>): Promise<boolean> {
  try {
    if (typeof text === 'string') await navigator.clipboard.writeText(text);
    else {
      const blob = text.then(ready => new Blob([ready], { type: 'text/plain' }));
      // The caller sees a failure in the promise itself.
      blob.catch(() => undefined);
      await navigator.clipboard.write([new ClipboardItem({ 'text/plain': blob })]);
    }
    return true;
  } catch {
    return text instanceof Promise ? text.then(copyOldWay, () => false) : copyOldWay(text);
  }
}

/** Browsers offer the clipboard on https and localhost only. */
function copyOldWay(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'visually-hidden';
  (document.querySelector('dialog:modal') ?? document.body).append(field);
  const focused = document.activeElement;
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}

export async function copyWithToast(text: string): Promise<void> {
  if (await copyText(text)) showToast(texts.copied(text));
  else showToast(texts.errors.copy, { isProblem: true });
}

/** `copied` for a moment after each copy. */
function useCopy(text: string, wasCopied: boolean) {
  const [copies, setCopies] = useState(wasCopied ? 1 : 0);
  const [isCopied, setCopied] = useState(wasCopied);
  useEffect(() => {
    if (copies === 0) return;
    setCopied(true);
    announce(texts.copying.copied);
    return browserClock.after(tickMs, () => setCopied(false));
  }, [copies]);
  const copy = async (): Promise<void> => {
    if (await copyText(text)) setCopies(count => count + 1);
    else showToast(texts.errors.copy, { isProblem: true });
  };
  return { isCopied, copy };
}

interface CopyProps {
  readonly text: string;
  readonly label: string;
}

export function CopyButton({ text, label }: CopyProps) {
  const { isCopied, copy } = useCopy(text, false);
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

/** With its label written out; `wasCopied` says that the text has just been copied. */
export function CopyTextButton({
  text,
  label,
  kind = 'primary',
  wasCopied = false,
  isFirst = false,
}: CopyProps & {
  readonly kind?: 'primary' | 'plain';
  readonly wasCopied?: boolean;
  /** Whether a dialog focuses it when it opens. */
  readonly isFirst?: boolean;
}) {
  const { isCopied, copy } = useCopy(text, wasCopied);
  return (
    <Button
      kind={kind}
      class="copy-text"
      icon={isCopied ? 'check' : 'copy'}
      {...(isFirst && { 'data-autofocus': true })}
      onClick={() => void copy()}
    >
      {isCopied ? texts.actions.copied : label}
    </Button>
  );
}

export function saveFile(name: string, content: Blob): void {
  const address = URL.createObjectURL(content);
  const anchor = document.createElement('a');
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  // Some browsers read it only after the click.
  browserClock.after(tickMs, () => URL.revokeObjectURL(address));
}
