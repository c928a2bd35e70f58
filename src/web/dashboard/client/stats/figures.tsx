/** The sums of the range, each with its change against the compared period. */
import type { ComponentChildren } from 'preact';
import { texts } from '../../texts.ts';
import type { Stats } from '../api/types.ts';
import { formatCompact, formatNumber, formatPercent } from '../format.ts';

interface FiguresProps {
  readonly stats: Stats;
  /** The last 24 hours are of all clicks, whatever the filters. */
  readonly isFiltered: boolean;
  /** Live clicks that the numbers do not include yet. */
  readonly arriving: number;
}

/** The most important numbers, each compared with another period on request. */
export function Figures({ stats, isFiltered, arriving }: FiguresProps) {
  const { range } = stats;
  const before = stats.comparison ?? undefined;
  return (
    <dl class="figures">
      <Figure
        label={texts.stats.clicks}
        value={range.clicks + arriving}
        before={before?.clicks}
        isMoving={arriving > 0}
      />
      <Figure label={texts.stats.visitors} value={range.visitors} before={before?.visitors} />
      {!isFiltered && (
        <Figure label={texts.stats.last24h} value={stats.clicks24h + arriving} before={undefined} />
      )}
      <Figure label={texts.stats.bots} value={range.botClicks} before={before?.botClicks} isQuiet />
      {range.suspiciousClicks > 0 && (
        <Figure
          label={texts.stats.suspicious}
          value={range.suspiciousClicks}
          before={before?.suspiciousClicks}
          isQuiet
        />
      )}
    </dl>
  );
}

function Figure({
  label,
  value,
  before,
  isMoving = false,
  isQuiet = false,
}: {
  readonly label: ComponentChildren;
  readonly value: number;
  readonly before: number | undefined;
  readonly isMoving?: boolean;
  readonly isQuiet?: boolean;
}) {
  return (
    <div class={isQuiet ? 'figure figure-quiet' : 'figure'}>
      <dt>{label}</dt>
      <dd title={formatNumber(value)} data-value={value}>
        <span class={isMoving ? 'figure-value moving' : 'figure-value'}>{formatCompact(value)}</span>
        {before !== undefined && <Change value={value} before={before} isQuiet={isQuiet} />}
      </dd>
    </div>
  );
}

interface ChangeProps {
  readonly value: number;
  readonly before: number;
  /** More bots are neither good nor bad news. */
  readonly isQuiet: boolean;
}

function Change({ value, before, isQuiet }: ChangeProps) {
  if (before === 0 && value > 0) return <span class="change">{texts.stats.fresh}</span>;
  const share = before === 0 ? 0 : (value - before) / before;
  const direction = share > 0.005 ? 'up' : share < -0.005 ? 'down' : 'same';
  const sign = { up: '↑', down: '↓', same: '±' }[direction];
  return (
    <span
      class={isQuiet ? 'change' : `change change-${direction}`}
      title={texts.stats.before(formatNumber(before))}
    >
      {sign} {formatPercent(Math.abs(share))}
    </span>
  );
}
