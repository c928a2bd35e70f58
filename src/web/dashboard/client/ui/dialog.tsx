/** A window over the page. The browser's own dialog keeps the focus inside, closes on Escape and dims the rest. */
import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { texts } from '../../texts.ts';
import { IconButton } from './button.tsx';

export interface DialogProps {
  readonly title: string;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
  readonly footer?: ComponentChildren;
  readonly size?: 'small' | 'medium' | 'large';
  /** For dialogs that must be answered: signing in again. */
  readonly isStubborn?: boolean;
}

export function Dialog({
  title,
  onClose,
  children,
  footer,
  size = 'medium',
  isStubborn = false,
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const titleId = useId();
  useEffect(() => {
    const dialog = element.current;
    if (dialog === null || dialog.open) return;
    dialog.showModal();
    dialog.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => dialog.close();
  }, []);
  return (
    <dialog
      ref={element}
      class={`dialog dialog-${size}`}
      aria-labelledby={titleId}
      onCancel={event => {
        event.preventDefault();
        if (!isStubborn) onClose();
      }}
      onMouseDown={event => {
        if (event.target === element.current && !isStubborn) onClose();
      }}
    >
      <div class="dialog-frame">
        <header class="dialog-header">
          <h2 id={titleId}>{title}</h2>
          {!isStubborn && <IconButton label={texts.actions.close} icon="close" onClick={onClose} />}
        </header>
        <div class="dialog-body">{children}</div>
        {footer !== undefined && <footer class="dialog-footer">{footer}</footer>}
      </div>
    </dialog>
  );
}
