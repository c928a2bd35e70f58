/** A short list of actions behind a button. Arrow keys move through it, Escape and a click elsewhere close it. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from './button.tsx';

export interface MenuItem {
  readonly label: string;
  readonly icon?: IconName;
  readonly isDangerous?: boolean;
  readonly onSelect: () => void;
}

interface MenuProps {
  readonly label: string;
  readonly items: readonly MenuItem[];
  readonly children: ComponentChildren;
  readonly class?: string;
  /** Above the button instead of below. */
  readonly opensUp?: boolean;
  /** When the button has its own text. */
  readonly isNamed?: boolean;
}

export function Menu({
  label,
  items,
  children,
  class: more = 'icon-button',
  opensUp = false,
  isNamed = false,
}: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const frame = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);

  useEffect(() => {
    if (!isOpen) return;
    frame.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus();
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
    const entries = [...(frame.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
    const at = entries.indexOf(document.activeElement as HTMLElement);
    const steps: Record<string, number> = {
      ArrowDown: at + 1,
      ArrowUp: at - 1 + entries.length,
      Home: 0,
      End: entries.length - 1,
    };
    if (event.key === 'Escape' || event.key === 'Tab') close();
    const next = steps[event.key];
    if (next !== undefined) entries[next % entries.length]?.focus();
    if (next !== undefined || event.key === 'Escape') event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="menu" ref={frame}>
      <button
        ref={button}
        type="button"
        class={more}
        aria-label={isNamed ? undefined : label}
        title={isNamed ? undefined : label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <div
          class={`menu-list ${opensUp ? 'menu-up' : ''}`}
          role="menu"
          aria-label={label}
          onKeyDown={walk}
          tabIndex={-1}
        >
          {items.map(item => (
            <button
              key={item.label}
              type="button"
              role="menuitem"
              class={item.isDangerous ? 'menu-item menu-danger' : 'menu-item'}
              onClick={() => {
                close();
                item.onSelect();
              }}
            >
              {item.icon !== undefined && <Icon name={item.icon} />}
              {item.label}
            </button>
          ))}
        </div>
      )}
    </div>
  );
}
