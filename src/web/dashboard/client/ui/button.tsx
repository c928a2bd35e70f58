/** Buttons and icons. A button says what it does, in text or, when it is only an icon, in its label. */
import type { ComponentChildren, JSX, Ref } from 'preact';

/** The dashboard's icons: 20 by 20, drawn in strokes, always beside or inside an element that has a name. */
const outlines = {
  home: 'M3 9.2 10 3.5l7 5.7V16a1 1 0 0 1-1 1h-3.8v-4.6H7.8V17H4a1 1 0 0 1-1-1z',
  link: 'M8.2 11.8a3.2 3.2 0 0 0 4.6 0l2.6-2.6a3.25 3.25 0 0 0-4.6-4.6l-.9.9M11.8 8.2a3.2 3.2 0 0 0-4.6 0l-2.6 2.6a3.25 3.25 0 0 0 4.6 4.6l.9-.9',
  plus: 'M10 4v12M4 10h12',
  search: 'M9 14.5a5.5 5.5 0 1 0 0-11 5.5 5.5 0 0 0 0 11ZM13 13l3.8 3.8',
  key: 'M12.6 11.2a4 4 0 1 0-3.8-3.8L3.5 12.7v3.1h3.1v-1.9h1.9v-1.9h1.2zM13.3 6.7h.01',
  user: 'M10 10a3.2 3.2 0 1 0 0-6.4A3.2 3.2 0 0 0 10 10ZM3.8 16.8c.6-2.8 3-4.3 6.2-4.3s5.6 1.5 6.2 4.3',
  users:
    'M7.5 9.6a2.8 2.8 0 1 0 0-5.6 2.8 2.8 0 0 0 0 5.6ZM2.2 16.2c.5-2.6 2.5-4 5.3-4s4.8 1.4 5.3 4M13 4.3a2.7 2.7 0 0 1 0 5M14.8 12.6c1.6.5 2.7 1.7 3 3.6',
  shield: 'M10 2.8 4.2 5v4.6c0 3.6 2.4 6.3 5.8 7.6 3.4-1.3 5.8-4 5.8-7.6V5zM7.6 9.9l1.8 1.8 3.2-3.6',
  ban: 'M10 16.8a6.8 6.8 0 1 0 0-13.6 6.8 6.8 0 0 0 0 13.6ZM5.2 5.2l9.6 9.6',
  pulse: 'M2.5 10.5h3.3l2.2-6 3.6 11 2.3-5h3.6',
  copy: 'M7.5 7.5V4.6c0-.6.5-1.1 1.1-1.1h6.8c.6 0 1.1.5 1.1 1.1v6.8c0 .6-.5 1.1-1.1 1.1h-2.9M4.6 7.5h6.8c.6 0 1.1.5 1.1 1.1v6.8c0 .6-.5 1.1-1.1 1.1H4.6c-.6 0-1.1-.5-1.1-1.1V8.6c0-.6.5-1.1 1.1-1.1Z',
  duplicate: 'M6.5 6.5h9a1 1 0 0 1 1 1v9h-9a1 1 0 0 1-1-1zM13.5 6.5v-3h-9a1 1 0 0 0-1 1v9h3',
  upload: 'M10 12.5v-9M6.2 7.2 10 3.4l3.8 3.8M4 16.5h12',
  image: 'M3.5 4.5h13v11h-13zM3.5 13l3.8-3.8 3 3 2.2-2.2 4 4M13 7.5h.01',
  leads: 'M4.5 4v4.5a3 3 0 0 0 3 3h8.5M12.5 8l3.5 3.5-3.5 3.5',
  check: 'M4 10.5l4 4 8-9',
  close: 'M5 5l10 10M15 5 5 15',
  edit: 'M4 13.2V16h2.8l8.6-8.6-2.8-2.8zM11.2 6l2.8 2.8',
  trash: 'M3.8 5.8h12.4M8 5.5V3.8h4v1.7M5.3 5.8l.7 10.4h8l.7-10.4M8.4 9v4.4M11.6 9v4.4',
  qr: 'M3.5 3.5h5v5h-5zM11.5 3.5h5v5h-5zM3.5 11.5h5v5h-5zM11.5 11.5h2v2M16.5 11.5v5h-2.2M11.5 16.5h.01',
  more: 'M4.8 10h.01M10 10h.01M15.2 10h.01',
  down: 'M5.5 8l4.5 4.5L14.5 8',
  left: 'M12 5l-5 5 5 5',
  right: 'M8 5l5 5-5 5',
  download: 'M10 3.5v9M6.2 9l3.8 3.8L13.8 9M4 16.5h12',
  external: 'M11.5 4h4.5v4.5M16 4l-7 7M8.5 5H5a1 1 0 0 0-1 1v9a1 1 0 0 0 1 1h9a1 1 0 0 0 1-1v-3.5',
  power: 'M10 3.2v6.3M6 5.6a5.9 5.9 0 1 0 8 0',
  clock: 'M10 16.8a6.8 6.8 0 1 0 0-13.6 6.8 6.8 0 0 0 0 13.6ZM10 6v4.2l2.7 1.7',
  tag: 'M3.5 4.5v5.2l6.8 6.8 6.2-6.2-6.8-6.8H4.5a1 1 0 0 0-1 1ZM7 7h.01',
  sun: 'M10 13.2a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4ZM10 2.5v1.3M10 16.2v1.3M2.5 10h1.3M16.2 10h1.3M4.7 4.7l.9.9M14.4 14.4l.9.9M15.3 4.7l-.9.9M5.6 14.4l-.9.9',
  moon: 'M16.4 11.8A6.8 6.8 0 0 1 8.2 3.6a6.8 6.8 0 1 0 8.2 8.2Z',
  screen: 'M3 4.5h14v9.5H3zM7.5 17h5M10 14v3',
  keyboard: 'M2.5 5.5h15v9h-15zM5.5 8.5h.01M8.5 8.5h.01M11.5 8.5h.01M14.5 8.5h.01M6.5 11.5h7',
  out: 'M8 3.8H5a1 1 0 0 0-1 1v10.4a1 1 0 0 0 1 1h3M12.5 13.5 16 10l-3.5-3.5M16 10H8',
  history: 'M3.6 8.2A6.8 6.8 0 1 1 3.2 10M3.2 4.5v3.9h3.9M10 6.4v3.9l2.6 1.5',
  refresh: 'M16 7.5A6.5 6.5 0 0 0 4 8M4 4.5V8h3.5M4 12.5a6.5 6.5 0 0 0 12-.5M16 15.5V12h-3.5',
  cloudOff: 'M6.2 8.1A3.6 3.6 0 0 0 6.5 15h7.3M8.3 5.4A4.8 4.8 0 0 1 15 9a3 3 0 0 1 1.4 5.3M3.5 3.5l13 13',
  inbox:
    'M3.5 11.5 5.6 4.6c.1-.4.5-.6.9-.6h7c.4 0 .8.2.9.6l2.1 6.9v3.4c0 .6-.5 1.1-1.1 1.1H4.6c-.6 0-1.1-.5-1.1-1.1zM3.5 11.5h3.7l1 2h3.6l1-2h3.7',
  globe:
    'M10 16.8a6.8 6.8 0 1 0 0-13.6 6.8 6.8 0 0 0 0 13.6ZM3.2 10h13.6M10 3.2c2 2 2.8 4.3 2.8 6.8s-.8 4.8-2.8 6.8c-2-2-2.8-4.3-2.8-6.8S8 5.2 10 3.2Z',
} as const;

export type IconName = keyof typeof outlines;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg
      class={`icon icon-${name}`}
      viewBox="0 0 20 20"
      width={size}
      height={size}
      aria-hidden="true"
      focusable="false"
    >
      <path d={outlines[name]} />
    </svg>
  );
}

/** The brand, drawn in strokes so that it looks the same with any fonts. */
export function Wordmark() {
  return (
    <svg class="wordmark" viewBox="0 0 65 24" width="76" height="28" role="img" aria-label="Terse">
      <path d="M5 4v11a3.5 3.5 0 0 0 3.5 3.5h2M1 9.5h9.5M14 14h8.5a4.5 4.5 0 1 0-1.3 3.2M27.5 20V8M27.5 14a4.5 4.5 0 0 1 4.5-4.5h1.5M43.5 9.5h-4.8a2.25 2.25 0 0 0 0 4.5h2.1a2.25 2.25 0 0 1 0 4.5H35.8M48 14h8.5a4.5 4.5 0 1 0-1.3 3.2" />
      <circle cx="62.2" cy="17.8" r="2.2" />
    </svg>
  );
}

/** `danger` warns of what it does; `alarm` also says that it should be done. */
type Kind = 'primary' | 'plain' | 'quiet' | 'danger' | 'alarm';

interface Common {
  readonly kind?: Kind;
  readonly icon?: IconName;
  readonly small?: boolean;
  readonly children?: ComponentChildren;
}

type ButtonProps = Common &
  Omit<JSX.IntrinsicElements['button'], 'children' | 'icon'> & {
    readonly busy?: boolean;
    readonly elementRef?: Ref<HTMLButtonElement>;
  };

export function Button({
  kind = 'plain',
  icon,
  small = false,
  busy = false,
  children,
  elementRef,
  class: more,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      ref={elementRef ?? null}
      class={`button button-${kind} ${small ? 'button-small' : ''} ${more ?? ''}`}
      aria-busy={busy || undefined}
      disabled={busy || rest.disabled}
    >
      {busy ? <span class="spinner" aria-hidden="true" /> : icon !== undefined && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </button>
  );
}

/** Only an icon; `label` is its accessible name and its tooltip. */
export function IconButton({
  label,
  icon,
  size,
  class: more,
  elementRef,
  ...rest
}: Omit<JSX.IntrinsicElements['button'], 'icon' | 'size' | 'label'> & {
  readonly label: string;
  readonly icon: IconName;
  readonly size?: number;
  readonly elementRef?: Ref<HTMLButtonElement>;
}) {
  return (
    <button
      type="button"
      {...rest}
      ref={elementRef ?? null}
      class={`icon-button ${more ?? ''}`}
      aria-label={label}
      title={label}
    >
      <Icon name={icon} {...(size !== undefined && { size })} />
    </button>
  );
}

export function LinkButton({
  kind = 'plain',
  icon,
  small = false,
  children,
  class: more,
  ...rest
}: Common & {
  readonly href: string;
  readonly download?: string | boolean;
  readonly class?: string;
}) {
  return (
    <a {...rest} class={`button button-${kind} ${small ? 'button-small' : ''} ${more ?? ''}`}>
      {icon !== undefined && <Icon name={icon} />}
      {children !== undefined && <span>{children}</span>}
    </a>
  );
}

export function Key({ children }: { readonly children: string }) {
  return <kbd class="key">{children}</kbd>;
}
