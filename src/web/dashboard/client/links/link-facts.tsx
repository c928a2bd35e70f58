/** What a link is, in a few lines. The destination is shown as text: one looks before one leaps. */
import { texts } from '../../texts.ts';
import type { LinkView } from '../api/types.ts';
import { formatAgo, formatMoment, formatNumber } from '../format.ts';
import { Icon } from '../ui/icon.tsx';
import { SafeAddress } from '../ui/safe-address.tsx';
import { HealthFact, Tag } from './status-badge.tsx';

export function LinkFacts({ link }: { readonly link: LinkView }) {
  return (
    <div class="link-facts">
      {link.title !== null && <p class="link-title">{link.title}</p>}
      <p class="link-destination">
        <Icon name="right" size={16} />
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
            {texts.links.expires(formatAgo(link.expiresAt))}
          </span>
        )}
        {link.maxClicks !== null && (
          <span>{texts.links.used(formatNumber(link.usedClicks), formatNumber(link.maxClicks))}</span>
        )}
        <span>{texts.form.redirectTypes[String(link.redirectType) as '302']}</span>
        <HealthFact health={link.health} />
        {link.publicStats && (
          <span>
            <Icon name="globe" size={14} />
            {texts.form.publicStats}
          </span>
        )}
        {link.tags.map(tag => (
          <Tag key={tag} name={tag} />
        ))}
      </p>
    </div>
  );
}
