/** The most frequent values, each with a bar behind it: a chart that is also a list. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import { formatCompact, formatNumber, formatPercent } from '../format.ts';

export interface BarRow {
  readonly key: string;
  readonly label: ComponentChildren;
  readonly count: number;
  readonly href?: string;
}

const shownMax = 9;

export function BarList({ rows, total }: { readonly rows: readonly BarRow[]; readonly total: number }) {
  if (rows.length === 0) return <p class="quiet bar-none">{texts.stats.none}</p>;
  const most = Math.max(1, ...rows.map(({ count }) => count));
  return (
    <ol class="bar-list">
      {rows.slice(0, shownMax).map(({ key, label, count, href }) => (
        <li key={key} title={formatNumber(count)}>
          <span class="bar-behind" style={{ width: `${(count / most) * 100}%` }} />
          {href === undefined ? (
            <span class="bar-label">{label}</span>
          ) : (
            <a class="bar-label" href={href}>
              {label}
            </a>
          )}
          <span class="bar-share">{formatPercent(total === 0 ? 0 : count / total)}</span>
          <span class="bar-count">{formatCompact(count)}</span>
        </li>
      ))}
    </ol>
  );
}
