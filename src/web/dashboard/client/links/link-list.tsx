/** The rows of the links page. Only those in view are rendered; j, k, x and Enter work on a cursor. */
import type { RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import type { LinkTotal, LinkView } from '../api/types.ts';
import { formatAgo, formatCompact, formatMoment, formatNumber, hostOf, withoutScheme } from '../format.ts';
import { language } from '../language.ts';
import { wantTotals } from '../state/links.ts';
import { goTo, hrefOf, onKeys } from '../state/router.ts';
import { useStore } from '../state/store.ts';
import { Icon } from '../ui/button.tsx';
import { CopyButton } from '../ui/copy.tsx';
import { Menu } from '../ui/menu.tsx';
import { menuOf } from './link-actions.ts';
import { HealthBadge, StatusBadge, Tag } from './link-details.tsx';

const rowHeightPx = 68;
/** Height of the sticky header, which hides rows. */
const stickyPx = 140;

interface LinkListProps {
  readonly links: readonly LinkView[];
  readonly totals: ReadonlyMap<string, LinkTotal>;
  readonly selected: ReadonlySet<string>;
  readonly onSelected: (selected: ReadonlySet<string>) => void;
}

export function LinkList({ links, totals, selected, onSelected }: LinkListProps) {
  const list = useRef<HTMLUListElement>(null);
  const { first, end } = useVisibleRows(list, links.length, rowHeightPx);
  const [cursor, setCursor] = useState(-1);
  const anchor = useRef(-1);
  const shown = links.slice(first, end);

  const minute = useMinute();
  useEffect(() => wantTotals(shown.map(({ shortCode }) => shortCode)), [links, first, end, minute]);
  useLayoutEffect(() => {
    list.current?.style.setProperty('height', `${links.length * rowHeightPx}px`);
  }, [links.length]);

  const select = (position: number, isRange: boolean): void => {
    const next = new Set(selected);
    const from = isRange && anchor.current >= 0 ? Math.min(anchor.current, position) : position;
    const to = isRange && anchor.current >= 0 ? Math.max(anchor.current, position) : position;
    const isAdding = !selected.has(links[position]!.shortCode);
    for (const { shortCode } of links.slice(from, to + 1)) {
      if (isAdding) next.add(shortCode);
      else next.delete(shortCode);
    }
    anchor.current = position;
    onSelected(next);
  };
  const latestSelect = useRef(select);
  latestSelect.current = select;
  const onSelect = useCallback(
    (position: number, isRange: boolean): void => latestSelect.current(position, isRange),
    [],
  );
  const move = (by: number): void => {
    const next = Math.max(0, Math.min(links.length - 1, cursor + by));
    setCursor(next);
    if (list.current !== null) scrollToRow(list.current, next, rowHeightPx, stickyPx);
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>(`[data-row-link="${next}"]`)?.focus(),
    );
  };
  useEffect(() =>
    onKeys({
      j: () => move(1),
      k: () => move(-1),
      x: () => {
        if (links[cursor] !== undefined) select(cursor, false);
      },
      o: () => {
        const link = links[cursor];
        if (link !== undefined) goTo(`/links/${link.shortCode}`);
      },
    }),
  );
  return (
    <ul class="link-list" ref={list} aria-label={texts.links.title}>
      <RowSpace rows={first} />
      {shown.map((link, offset) => (
        <LinkRow
          key={link.shortCode}
          link={link}
          total={totals.get(link.shortCode)}
          position={first + offset}
          count={links.length}
          minute={minute}
          isSelected={selected.has(link.shortCode)}
          isAtCursor={first + offset === cursor}
          onSelect={onSelect}
        />
      ))}
    </ul>
  );
}

const minuteMs = 60_000;

function useMinute(): number {
  const [minute, setMinute] = useState(0);
  useEffect(
    () =>
      browserClock.every(minuteMs, () => {
        if (document.visibilityState === 'visible') setMinute(before => before + 1);
      }),
    [],
  );
  return minute;
}

/** Takes the space of the rows above. */
function RowSpace({ rows }: { readonly rows: number }) {
  return <li class="row-space" aria-hidden="true" style={{ height: `${rows * rowHeightPx}px` }} />;
}

const tagsShownMax = 2;

interface LinkRowProps {
  readonly link: LinkView;
  readonly total: LinkTotal | undefined;
  readonly position: number;
  readonly count: number;
  /** Changes every minute, so that ages are rendered again. */
  readonly minute: number;
  readonly isSelected: boolean;
  readonly isAtCursor: boolean;
  /** Must be the same function at every render. */
  readonly onSelect: (position: number, isRange: boolean) => void;
}

/** Rendered again only when it changes: while a user scrolls, most rows stay as they are. */
function LinkRow(props: LinkRowProps) {
  const { link, total, position, count, minute, isSelected, isAtCursor } = props;
  const row = () => <DrawnRow {...props} />;
  return useMemo(row, [link, total, position, count, minute, isSelected, isAtCursor, useStore(language)]);
}

/** One link in the list: its name, its destination, its state, and its actions. */
function DrawnRow({ link, total, position, count, isSelected, isAtCursor, onSelect }: LinkRowProps) {
  const host = withoutScheme(link.shortUrl).slice(0, -link.shortCode.length - 1);
  const classes = ['link-row', isSelected && 'selected', isAtCursor && 'at-cursor'].filter(Boolean).join(' ');
  return (
    <li class={classes} aria-setsize={count} aria-posinset={position + 1} data-row={position}>
      <label class="row-check">
        <input
          type="checkbox"
          checked={isSelected}
          onClick={event => onSelect(position, event.shiftKey)}
          aria-label={texts.links.select(link.shortCode)}
        />
      </label>
      <span class="row-mark" aria-hidden="true">
        {hostOf(link.longUrl).slice(0, 1).toUpperCase()}
      </span>
      <div class="row-main">
        <div class="row-title">
          {/* It covers the row, so its tooltip is the one of the whole row. */}
          <a
            class="row-link"
            href={hrefOf(`/links/${link.shortCode}`)}
            data-row-link={position}
            title={[formatMoment(link.createdAt), total && texts.links.clicks(total.clicks)]
              .filter(Boolean)
              .join(' · ')}
          >
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
      <span class="row-age">{formatAgo(link.createdAt)}</span>
      <Sparkline daily={total?.daily} />
      <span class="row-clicks">
        {total === undefined ? <span class="bar bar-short" /> : formatCompact(total.clicks)}
        <span class="row-unit">{texts.stats.clicksUnit(total?.clicks ?? 0)}</span>
      </span>
      <Menu label={texts.links.more(link.shortCode)} items={menuOf(link)}>
        <Icon name="more" />
      </Menu>
    </li>
  );
}

const sparkWidth = 72;
const sparkHeight = 24;

/** The clicks of the last seven days; a flat line when there were none. */
function Sparkline({ daily }: { readonly daily: readonly number[] | undefined }) {
  if (daily === undefined || daily.length < 2) return <span class="row-spark" />;
  const peak = Math.max(...daily, 1);
  const points = daily.map((clicks, day) => {
    const x = 1 + (day / (daily.length - 1)) * (sparkWidth - 2);
    const y = sparkHeight - 2 - (clicks / peak) * (sparkHeight - 4);
    return `${x.toFixed(1)} ${y.toFixed(1)}`;
  });
  const line = `M${points.join('L')}`;
  return (
    <svg
      class="row-spark"
      viewBox={`0 0 ${sparkWidth} ${sparkHeight}`}
      width={sparkWidth}
      height={sparkHeight}
      role="img"
      aria-label={texts.manage.sparkline(daily.map(formatNumber).join(', '))}
    >
      <path class="spark-fill" d={`${line}L${sparkWidth - 1} ${sparkHeight}L1 ${sparkHeight}Z`} />
      <path class="spark-line" d={line} />
    </svg>
  );
}

interface VisibleRows {
  readonly first: number;
  /** One past the last. */
  readonly end: number;
}

/** Rendered above and below the visible rows, so that a quick scroll shows no gap. */
const spareRows = 6;

/** Which rows of a long list are in view. Only those are rendered, so ten thousand cost as much as thirty. */
function useVisibleRows(
  list: RefObject<HTMLElement | null>,
  count: number,
  rowHeightPx: number,
): VisibleRows {
  const [visible, setVisible] = useState<VisibleRows>({ first: 0, end: Math.min(count, 30) });

  const measure = (): void => {
    const top = list.current?.getBoundingClientRect().top ?? 0;
    const first = Math.max(0, Math.floor(-top / rowHeightPx) - spareRows);
    const end = Math.min(count, Math.ceil((innerHeight - top) / rowHeightPx) + spareRows);
    setVisible(before =>
      before.first === first && before.end === end
        ? before
        : { first: Math.min(first, count), end: Math.max(end, 0) },
    );
  };

  useLayoutEffect(measure, [count, rowHeightPx]);
  useEffect(() => {
    let frame = 0;
    const soon = (): void => {
      cancelAnimationFrame(frame);
      frame = requestAnimationFrame(measure);
    };
    addEventListener('scroll', soon, { passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', soon);
      removeEventListener('resize', soon);
    };
  }, [count, rowHeightPx]);
  return visible;
}

/** Scrolls to a row that may not be rendered yet. */
function scrollToRow(list: HTMLElement, index: number, rowHeightPx: number, headerPx: number): void {
  const top = list.getBoundingClientRect().top + scrollY + index * rowHeightPx;
  if (top - headerPx < scrollY) scrollTo(0, top - headerPx);
  else if (top + rowHeightPx > scrollY + innerHeight) scrollTo(0, top + rowHeightPx - innerHeight + 16);
}
