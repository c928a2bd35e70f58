import { texts } from '../../texts.ts';
import type { LinkHealth, LinkStatus } from '../api/types.ts';
import { formatAgo, formatMoment } from '../format.ts';
import { Icon } from '../ui/icon.tsx';

/** The state of a link in a word, with a colour that only repeats it. */
export function StatusBadge({ status }: { readonly status: LinkStatus }) {
  return <span class={`badge badge-${status}`}>{texts.status[status]}</span>;
}

/** A word of warning, for a destination that does not answer. */
export function HealthBadge({ health }: { readonly health: LinkHealth | null | undefined }) {
  if (health?.status !== 'failing') return null;
  return (
    <span class="badge badge-failing" title={healthText(health)}>
      {texts.health.failing}
    </span>
  );
}

/** What is known of the destination, in a line; nothing where nothing is. */
export function HealthFact({ health }: { readonly health: LinkHealth | null | undefined }) {
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

export function Tag({ name }: { readonly name: string }) {
  return <span class="tag">{name}</span>;
}
