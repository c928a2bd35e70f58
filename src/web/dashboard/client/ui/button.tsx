/** Things to press. A button always says what it does, in text or, when it is only a pictogram, in its label. */
import type { ComponentChildren, JSX, Ref } from 'preact';
import { Icon, type IconName } from './icon.tsx';

type Kind = 'primary' | 'plain' | 'quiet' | 'danger';

interface Common {
  readonly kind?: Kind;
  readonly icon?: IconName;
  readonly small?: boolean;
  readonly children?: ComponentChildren;
}

export type ButtonProps = Common &
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

/** Only a pictogram; `label` is its name for everyone who does not see it, and its tooltip. */
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
