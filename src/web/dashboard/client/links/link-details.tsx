/** The parts of a link that several pages show: its state, its facts, its destination, the appeal of its owner. */
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import { appeal } from '../api/calls.ts';
import type { LinkHealth, LinkStatus, LinkView } from '../api/types.ts';
import { formatAgo, formatMoment, formatNumber } from '../format.ts';
import { hrefOf } from '../state/router.ts';
import { Button, Icon } from '../ui/button.tsx';
import { FormDialog } from '../ui/dialog.tsx';
import { Field } from '../ui/field.tsx';
import { showToast } from '../ui/toast.tsx';
import { switchNames } from './link-form.ts';

/** The state of a link in a word; the colour only repeats it. */
export function StatusBadge({ status }: { readonly status: LinkStatus }) {
  return <span class={`badge badge-${status}`}>{texts.status[status]}</span>;
}

/** A warning for a destination that does not answer. */
export function HealthBadge({ health }: { readonly health: LinkHealth | null | undefined }) {
  if (health?.status !== 'failing') return null;
  return (
    <span class="badge badge-failing" title={healthText(health)}>
      {texts.health.failing}
    </span>
  );
}

/** The known state of the destination, in a line; nothing when it is unknown. */
function HealthFact({ health }: { readonly health: LinkHealth | null | undefined }) {
  if (health === null || health === undefined) return null;
  return (
    <span title={formatMoment(health.checkedAt)}>
      <Icon name="globe" size={14} />
      {healthText(health)}
    </span>
  );
}

function healthText({ checkedAt, failingSince, httpStatus, reason }: LinkHealth): string {
  if (failingSince === null) return texts.health.ok(formatAgo(checkedAt));
  const why = reason === null ? texts.health.answers(httpStatus ?? 0) : texts.health.reasons[reason];
  return texts.health.since(formatAgo(failingSince), why);
}

export const isPast = (time: string): boolean => Date.parse(time) <= browserClock.now();

/** “expires …” or “expired …”. */
export const expiryText = (expiresAt: string): string =>
  isPast(expiresAt) ? texts.links.expired(formatAgo(expiresAt)) : texts.links.expires(formatAgo(expiresAt));

/** Leads to the links that have it. */
export function Tag({ name }: { readonly name: string }) {
  return (
    <a
      class="tag"
      href={hrefOf(`/links?${new URLSearchParams({ tag: name })}`)}
      title={texts.manage.filterByTag(name)}
    >
      {name}
    </a>
  );
}

/** The facts of a link, in a few lines. The destination is text, not a link, so that it is not opened by accident. */
export function LinkFacts({ link }: { readonly link: LinkView }) {
  return (
    <div class="link-facts">
      {link.title !== null && <p class="link-title">{link.title}</p>}
      <p class="link-destination">
        <Icon name="leads" size={16} />
        <SafeAddress address={link.longUrl} />
        <a
          class="icon-button"
          href={link.longUrl}
          target="_blank"
          rel="noopener noreferrer nofollow"
          aria-label={texts.links.visit}
          title={texts.links.visit}
        >
          <Icon name="external" size={16} />
        </a>
      </p>
      <p class="link-meta">
        <span title={formatMoment(link.createdAt)}>{texts.links.created(formatAgo(link.createdAt))}</span>
        {link.updatedAt !== link.createdAt && (
          <span title={formatMoment(link.updatedAt)}>{texts.links.edited(formatAgo(link.updatedAt))}</span>
        )}
        {link.expiresAt !== null && (
          <span title={formatMoment(link.expiresAt)}>
            <Icon name="clock" size={14} />
            {expiryText(link.expiresAt)}
          </span>
        )}
        {link.maxClicks !== null && (
          <span>{texts.links.used(formatNumber(link.usedClicks), link.maxClicks)}</span>
        )}
        <span>{texts.form.redirectTypes[String(link.redirectType) as '302']}</span>
        <HealthFact health={link.health} />
        {switchNames
          .filter(name => link[name])
          .map(name => (
            <span key={name}>
              <Icon name="check" size={14} />
              {texts.form.switches[name].label}
            </span>
          ))}
        {link.tags.map(tag => (
          <Tag key={tag} name={tag} />
        ))}
      </p>
    </div>
  );
}

/** The owner's appeal against a quarantine or block: a short text for the moderators. */
export function AppealButton({ link }: { readonly link: LinkView }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button small onClick={() => setOpen(true)}>
        {texts.appeal.open}
      </Button>
      {isOpen && <AppealDialog code={link.shortCode} onClose={() => setOpen(false)} />}
    </>
  );
}

function AppealDialog({ code, onClose }: { readonly code: string; readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const send = async (): Promise<void> => {
    await appeal(code, text.trim());
    showToast(texts.appeal.sent);
    onClose();
  };
  return (
    <FormDialog
      title={texts.appeal.title}
      size="small"
      onClose={onClose}
      submitLabel={texts.appeal.send}
      canSubmit={text.trim() !== ''}
      onSubmit={send}
    >
      <Field label={texts.appeal.words} help={texts.appeal.help}>
        {ids => (
          <textarea
            {...ids}
            class="input"
            rows={4}
            maxLength={2000}
            value={text}
            data-autofocus
            onInput={event => setText(event.currentTarget.value)}
          />
        )}
      </Field>
    </FormDialog>
  );
}

/**
 * An address as text that cannot mislead: never a link by itself, direction fixed, and the host, which decides where it
 * leads, stands out. A host in another script is shown as the browser really requests it.
 */
export function SafeAddress({ address }: { readonly address: string }) {
  const url = URL.parse(address);
  if (url === null) return <bdi class="address">{address}</bdi>;
  const rest = url.pathname + url.search + url.hash;
  return (
    <bdi class="address">
      <span>{`${url.protocol}//`}</span>
      <strong>{url.host}</strong>
      <span>{rest === '/' ? '' : rest}</span>
    </bdi>
  );
}
