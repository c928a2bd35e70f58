/** Statistics at a glance, for one link, a tag, or everything. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { texts } from '../../texts.ts';
import type { Stats } from '../api/types.ts';
import { formatCompact, formatIn, formatNumber, formatPercent } from '../format.ts';
import { setQuery } from '../state/router.ts';
import { ProblemNotice } from '../ui/field.tsx';
import { Failure, Skeleton } from '../ui/page.tsx';
import { Breakdowns } from './breakdowns.tsx';
import { FilterChips } from './filter-chips.tsx';
import { type ComparisonName, withArriving, zoomed } from './range.ts';
import { StatsToolbar, unzoomed } from './stats-toolbar.tsx';
import { TimeChart } from './time-chart.tsx';
import type { ShownStats, StatsResource } from './use-stats.ts';

interface StatsViewProps {
  readonly resource: StatsResource;
  /** Live clicks that are not in the numbers yet. */
  readonly arrivingSince?: (askedAtMs: number) => number;
  readonly toolbar?: ComponentChildren;
  /** Between the chart and the breakdowns. */
  readonly children?: ComponentChildren;
}

export function StatsView({ resource, arrivingSince, toolbar, children }: StatsViewProps) {
  const { value, problem, isLoading, isCurrent, choice, reload } = resource;
  // If reading the current numbers again fails, they stay, below the error.
  const hasFailed = problem !== undefined && !isLoading && !isCurrent;
  return (
    <div class="stats" aria-busy={isLoading || (!isCurrent && !hasFailed)}>
      <StatsToolbar choice={choice}>{toolbar}</StatsToolbar>
      <FilterChips filters={choice.filters} />
      {hasFailed ? (
        <Failure problem={problem} onRetry={reload} />
      ) : value === undefined ? (
        <StatsSkeleton />
      ) : (
        // The numbers of the previous choice stay, dimmed, until the new ones arrive.
        <div class="stats-numbers" data-stale={!isCurrent}>
          {isCurrent && <ProblemNotice problem={problem} />}
          <Coverage shown={value} />
          <ChartCard shown={value} arriving={arrivingIn(value, arrivingSince)} />
          {children}
          <Breakdowns shown={value} filters={choice.filters} />
        </div>
      )}
    </div>
  );
}

/** Live clicks belong to a range only while it has not ended. */
function arrivingIn(
  { stats, askedAtMs }: ShownStats,
  arrivingSince: StatsViewProps['arrivingSince'],
): number {
  return Date.parse(stats.to) > browserClock.now() ? (arrivingSince?.(askedAtMs) ?? 0) : 0;
}

/** Notes on clicks of the range that the numbers do not include. */
function Coverage({ shown: { stats, choice } }: { readonly shown: ShownStats }) {
  const { coveredFrom, listsByDayUntil, comparison } = stats;
  const when = (time: string): string => formatIn('moment', time, choice.timeZone);
  const comparedFrom = comparison?.coveredFrom ?? null;
  return (
    <>
      {coveredFrom !== null && (
        <p class="notice notice-plain">{texts.stats.coveredFrom(when(coveredFrom))}</p>
      )}
      {comparedFrom !== null && (
        <p class="notice notice-plain">{texts.stats.comparedFrom(when(comparedFrom))}</p>
      )}
      {listsByDayUntil !== null && (
        <p class="notice notice-plain">{texts.stats.listsByDay(when(listsByDayUntil))}</p>
      )}
    </>
  );
}

function ChartCard({ shown, arriving }: { readonly shown: ShownStats; readonly arriving: number }) {
  const { stats, choice } = shown;
  const { timeZone, filters, comparison } = choice;
  // A filter by bots shows them.
  const asksForBots = filters.some(({ dimension }) => dimension === 'bot');
  const [chosen, setShowsBots] = useState<boolean>();
  const showsBots = chosen ?? asksForBots;
  return (
    <section class="card chart-card" aria-label={texts.stats.overTime}>
      <Figures stats={stats} isFiltered={filters.length > 0} arriving={arriving} />
      <TimeChart
        series={withArriving(stats.series, arriving, browserClock.now())}
        previous={stats.comparison?.series}
        comparison={comparison}
        interval={stats.interval}
        timeZone={timeZone}
        showsBots={showsBots}
        onZoom={(fromMs, toMs) =>
          setQuery({ ...zoomed(fromMs, toMs, timeZone), interval: undefined }, { isStep: true })
        }
        onZoomOut={() => {
          if (choice.range.isZoomed) setQuery(unzoomed, { isStep: true });
        }}
      />
      <Legend
        showsBots={showsBots}
        onShowsBots={setShowsBots}
        comparison={stats.comparison === null ? undefined : comparison}
        hasFilling={stats.series.some(({ filling }) => filling)}
      />
    </section>
  );
}

interface LegendProps {
  readonly showsBots: boolean;
  readonly onShowsBots: (shows: boolean) => void;
  readonly comparison: ComparisonName | undefined;
  readonly hasFilling: boolean;
}

function Legend({ showsBots, onShowsBots, comparison, hasFilling }: LegendProps) {
  return (
    <div class="legend">
      <span class="legend-item legend-clicks">{texts.stats.clicks}</span>
      {hasFilling && <span class="legend-item legend-filling">{texts.stats.filling}</span>}
      {comparison !== undefined && (
        <span class="legend-item legend-previous">{texts.stats.comparisons[comparison]}</span>
      )}
      <label class="legend-item legend-bots">
        <input
          type="checkbox"
          checked={showsBots}
          onChange={event => onShowsBots(event.currentTarget.checked)}
        />
        {texts.stats.bots}
      </label>
      <span class="spacer" />
      <span class="quiet legend-hint">{texts.stats.zoomHint}</span>
    </div>
  );
}

function StatsSkeleton() {
  return (
    <>
      <div class="card skeleton-chart">
        <Skeleton lines={2} tall />
      </div>
      <div class="breakdowns">
        <div class="card">
          <Skeleton lines={6} />
        </div>
        <div class="card">
          <Skeleton lines={6} />
        </div>
      </div>
    </>
  );
}

interface FiguresProps {
  readonly stats: Stats;
  /** The last 24 hours are of all clicks, whatever the filters. */
  readonly isFiltered: boolean;
  /** Live clicks that the numbers do not include yet. */
  readonly arriving: number;
}

/** The most important numbers, each compared with another period on request. */
function Figures({ stats, isFiltered, arriving }: FiguresProps) {
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
  /** Shows a change as neither good nor bad, as for bots. */
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
