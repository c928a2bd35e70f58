/**
 * A short list of actions behind a button. Arrow keys move through it, Escape and a click elsewhere close it. It is in
 * the top layer, where no table or list cuts it off.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
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

const gapPx = 4;

/** Below the button and to its right edge, or above where there is no room; inside the window in any case. */
function place(list: HTMLElement, button: HTMLElement, opensUp: boolean): void {
  const at = button.getBoundingClientRect();
  const { offsetWidth: width, offsetHeight: height } = list;
  const hasRoomBelow = at.bottom + gapPx + height <= innerHeight;
  const isAbove = at.top - gapPx - height >= 0 && (opensUp || !hasRoomBelow);
  const top = isAbove ? at.top - gapPx - height : Math.min(at.bottom + gapPx, innerHeight - height);
  const left = opensUp ? at.left : at.right - width;
  list.style.setProperty('top', `${Math.max(0, top)}px`);
  list.style.setProperty('left', `${Math.max(gapPx, Math.min(left, innerWidth - width - gapPx))}px`);
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
  const list = useRef<HTMLDivElement>(null);

  useLayoutEffect(() => {
    if (!isOpen || list.current === null || button.current === null) return;
    list.current.showPopover();
    place(list.current, button.current, opensUp);
  }, [isOpen, opensUp]);
  useEffect(() => {
    if (!isOpen) return;
    list.current?.querySelector<HTMLElement>('[role=menuitem]')?.focus({ preventScroll: true });
    const closeOutside = (event: PointerEvent): void => {
      if (!frame.current?.contains(event.target as Node)) setOpen(false);
    };
    const closeNow = (event: Event): void => {
      const isOwn = event.target instanceof Node && list.current?.contains(event.target);
      if (!isOwn) setOpen(false);
    };
    addEventListener('pointerdown', closeOutside, true);
    addEventListener('scroll', closeNow, { capture: true, passive: true });
    addEventListener('resize', closeNow);
    return () => {
      removeEventListener('pointerdown', closeOutside, true);
      removeEventListener('scroll', closeNow, { capture: true });
      removeEventListener('resize', closeNow);
    };
  }, [isOpen]);

  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const walk = (event: KeyboardEvent): void => {
    const entries = [...(list.current?.querySelectorAll<HTMLElement>('[role=menuitem]') ?? [])];
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
          ref={list}
          popover="manual"
          class="menu-list"
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
