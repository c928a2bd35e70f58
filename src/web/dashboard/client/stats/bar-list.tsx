/** The most frequent values, each with a bar behind it: a chart that is also a list, and each row a filter. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import { formatCompact, formatNumber, formatPercent } from '../format.ts';
import { Icon } from '../ui/button.tsx';

export interface BarRow {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly count: number;
  readonly isFiltered: boolean;
  /** Undefined where there are no filters. */
  readonly onToggle: (() => void) | undefined;
  /** A page about the value. */
  readonly href?: string;
}

interface BarListProps {
  readonly rows: readonly BarRow[];
  /** What shares are of; undefined for none. */
  readonly total?: number;
}

export function BarList({ rows, total }: BarListProps) {
  if (rows.length === 0) return <p class="quiet bar-none">{texts.stats.none}</p>;
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ol class="bar-list">
      {rows.map(({ key, label, count, isFiltered, onToggle, href }) => (
        <li key={key}>
          <Row value={key} count={count} isFiltered={isFiltered} onToggle={onToggle}>
            <span class="bar-behind" style={{ width: `${(count / most) * 100}%` }} />
            <span class="bar-label">{label}</span>
            {total !== undefined && (
              <span class="bar-share">{formatPercent(total === 0 ? 0 : count / total)}</span>
            )}
            <span class="bar-count">{formatCompact(count)}</span>
          </Row>
          {href !== undefined && (
            <a
              class="bar-open"
              href={href}
              aria-label={texts.stats.openLink(key)}
              title={texts.stats.openLink(key)}
            >
              <Icon name="right" size={16} />
            </a>
          )}
        </li>
      ))}
    </ol>
  );
}

interface RowProps extends Pick<BarRow, 'count' | 'isFiltered' | 'onToggle'> {
  readonly value: string;
  readonly children: ComponentChildren;
}

function Row({ value, count, isFiltered, onToggle, children }: RowProps) {
  const shared = { class: 'bar-row', 'data-value': value, 'data-clicks': count, title: formatNumber(count) };
  if (onToggle === undefined) return <div {...shared}>{children}</div>;
  return (
    <button type="button" {...shared} aria-pressed={isFiltered} onClick={onToggle}>
      {children}
    </button>
  );
}
