/** Statistics at a glance, for one link, a tag, or everything. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import type { Bucket } from '../api/types.ts';
import { formatIn } from '../format.ts';
import { setQuery } from '../state/router.ts';
import { Failure, Skeleton } from '../ui/page.tsx';
import { Breakdowns } from './breakdowns.tsx';
import { Figures } from './figures.tsx';
import { FilterChips } from './filter-chips.tsx';
import { type ComparisonName, zoomed } from './range.ts';
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
        // Numbers of the last choice stay until those of the new one arrive, but not as if they were these.
        <div class="stats-numbers" data-stale={!isCurrent}>
          <Coverage shown={value} />
          <ChartCard shown={value} arriving={arrivingIn(value, arrivingSince)} />
          {children}
          <Breakdowns shown={value} filters={choice.filters} />
        </div>
      )}
    </div>
  );
}

/** Clicks of this moment belong to a range that has not ended. */
function arrivingIn(
  { stats, askedAtMs }: ShownStats,
  arrivingSince: StatsViewProps['arrivingSince'],
): number {
  return Date.parse(stats.to) > browserClock.now() ? (arrivingSince?.(askedAtMs) ?? 0) : 0;
}

/** What the numbers do not have of their range. */
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
  // A filter by bots is a wish to see them.
  const asksForBots = filters.some(({ dimension }) => dimension === 'bot');
  const [chosen, setShowsBots] = useState<boolean>();
  const showsBots = chosen ?? asksForBots;
  return (
    <section class="card chart-card" aria-label={texts.stats.overTime}>
      <Figures stats={stats} isFiltered={filters.length > 0} arriving={arriving} />
      <TimeChart
        series={withArriving(stats.series, arriving)}
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

/** The newest bucket grows as clicks arrive. */
function withArriving(series: readonly Bucket[], arriving: number): readonly Bucket[] {
  const last = series.at(-1);
  if (arriving === 0 || last === undefined) return series;
  return series.with(-1, { ...last, clicks: last.clicks + arriving });
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
