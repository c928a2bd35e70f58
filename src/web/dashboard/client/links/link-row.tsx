/** One link in the list: what it is called, where it leads, how it is doing, and what can be done with it. */
import { texts } from '../../texts.ts';
import type { LinkTotal, LinkView } from '../api/types.ts';
import { formatAgo, formatCompact, formatMoment, formatNumber, hostOf, withoutScheme } from '../format.ts';
import { hrefOf } from '../state/router.ts';
import { CopyButton } from '../ui/copy.tsx';
import { Icon } from '../ui/icon.tsx';
import { Menu } from '../ui/menu.tsx';
import type { LinkActions } from './link-actions.ts';
import { HealthBadge, StatusBadge, Tag } from './status-badge.tsx';

const tagsShownMax = 2;

export interface LinkRowProps {
  readonly link: LinkView;
  readonly total: LinkTotal | undefined;
  readonly position: number;
  readonly count: number;
  readonly isSelected: boolean;
  readonly isAtCursor: boolean;
  readonly onSelect: (isRange: boolean) => void;
  readonly actions: LinkActions;
}

export function LinkRow({
  link,
  total,
  position,
  count,
  isSelected,
  isAtCursor,
  onSelect,
  actions,
}: LinkRowProps) {
  const host = withoutScheme(link.shortUrl).slice(0, -link.shortCode.length - 1);
  const classes = ['link-row', isSelected && 'selected', isAtCursor && 'at-cursor'].filter(Boolean).join(' ');
  return (
    <li class={classes} aria-setsize={count} aria-posinset={position + 1} data-row={position}>
      <label class="row-check">
        <input
          type="checkbox"
          checked={isSelected}
          onClick={event => onSelect(event.shiftKey)}
          aria-label={texts.links.select(link.shortCode)}
        />
      </label>
      <span class="row-mark" aria-hidden="true">
        {hostOf(link.longUrl).slice(0, 1).toUpperCase()}
      </span>
      <div class="row-main">
        <div class="row-title">
          <a class="row-link" href={hrefOf(`/links/${link.shortCode}`)} data-row-link={position}>
            <span class="row-host">{host}</span>/{link.shortCode}
          </a>
          <CopyButton text={link.shortUrl} label={texts.links.copy(link.shortCode)} />
          {link.status !== 'active' && <StatusBadge status={link.status} />}
          <HealthBadge health={link.health} />
          {link.tags.slice(0, tagsShownMax).map(tag => (
            <Tag key={tag} name={tag} />
          ))}
          {link.tags.length > tagsShownMax && <span class="quiet">+{link.tags.length - tagsShownMax}</span>}
        </div>
        <div class="row-text">
          {link.title !== null && <strong>{link.title}</strong>}
          <bdi>{withoutScheme(link.longUrl)}</bdi>
        </div>
      </div>
      <span class="row-age" title={formatMoment(link.createdAt)}>
        {formatAgo(link.createdAt)}
      </span>
      <a
        class="row-clicks"
        href={hrefOf(`/links/${link.shortCode}`)}
        title={total === undefined ? texts.stats.clicksUnit : texts.links.clicks(formatNumber(total.clicks))}
      >
        {total === undefined ? <span class="bar bar-short" /> : formatCompact(total.clicks)}
        <span class="row-unit">{texts.stats.clicksUnit}</span>
      </a>
      <Menu label={texts.links.more(link.shortCode)} items={actions.menuOf(link)}>
        <Icon name="more" />
      </Menu>
    </li>
  );
}
