/** A small panel behind a button. Arrow keys move through its buttons, Escape and a click elsewhere close it. */
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './button.tsx';

interface PopoverProps {
  /** What is chosen here; `text` is the current choice. */
  readonly label: string;
  readonly text: string;
  readonly icon: IconName;
  readonly children: (close: () => void) => ComponentChildren;
}

export function Popover({ label, text, icon, children }: PopoverProps) {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  // A layout effect moves the focus before the next key is pressed.
  useLayoutEffect(() => {
    if (!isOpen) return;
    const panel = frame.current?.querySelector<HTMLElement>('.popover-panel');
    const first = ['[data-autofocus]', '[aria-pressed=true]', 'button']
      .map(selector => panel?.querySelector<HTMLElement>(selector))
      .find(element => element != null);
    first?.focus();
    const closeOutside = (event: PointerEvent): void => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    addEventListener('pointerdown', closeOutside, true);
    return () => removeEventListener('pointerdown', closeOutside, true);
  }, [isOpen]);

  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const walk = (event: KeyboardEvent): void => {
    event.stopPropagation();
    if (event.key === 'Escape') {
      event.preventDefault();
      close();
      return;
    }
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const isDate = event.target instanceof HTMLInputElement && event.target.type === 'date';
    if (step === undefined || isDate) return;
    const choices = [...(frame.current?.querySelectorAll<HTMLElement>('.popover-choice') ?? [])];
    const at = choices.indexOf(document.activeElement as HTMLElement);
    // From the search field above them, Up leads to the last choice.
    choices.at((Math.max(at, step === 1 ? -1 : 0) + step) % choices.length)?.focus();
    event.preventDefault();
  };
  return (
    <div
      class="popover"
      ref={frame}
      onFocusOut={event => {
        const next = event.relatedTarget as Node | null;
        if (isOpen && next !== null && !frame.current?.contains(next)) setOpen(false);
      }}
    >
      <button
        ref={button}
        type="button"
        class="button button-plain"
        aria-label={`${label}: ${text}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        <Icon name={icon} size={16} />
        <span>{text}</span>
        <Icon name="down" size={14} />
      </button>
      {isOpen && (
        <div class="popover-panel" role="dialog" aria-label={label} onKeyDown={walk}>
          {children(close)}
        </div>
      )}
    </div>
  );
}

interface PopoverChoiceProps {
  readonly isChosen: boolean;
  readonly onChoose: () => void;
  readonly children: ComponentChildren;
}

export function PopoverChoice({ isChosen, onChoose, children }: PopoverChoiceProps) {
  return (
    <button type="button" class="popover-choice" aria-pressed={isChosen} onClick={onChoose}>
      <span>{children}</span>
      {isChosen && <Icon name="check" size={16} />}
    </button>
  );
}
