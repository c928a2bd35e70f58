/** Statistics one takes in at a glance, for one link, a tag, or everything. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { texts } from '../../texts.ts';
import type { Bucket } from '../api/types.ts';
import { TimeChart } from '../charts/time-chart.tsx';
import { timeZone } from '../site.ts';
import type { Resource } from '../state/resource.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { Failure, Skeleton } from '../ui/states.tsx';
import { Breakdowns } from './breakdowns.tsx';
import { Figures } from './figures.tsx';
import { zoomed } from './range.ts';
import { StatsToolbar, wholeRange } from './stats-toolbar.tsx';
import { type ShownStats, shownRange } from './use-stats.ts';

export interface StatsViewProps {
  readonly resource: Resource<ShownStats> & { readonly isCompared: boolean };
  /** Clicks seen live that are not in the numbers yet. */
  readonly arrivingSince?: (askedAtMs: number) => number;
  readonly toolbar?: ComponentChildren;
  /** Between the chart and where clicks came from. */
  readonly children?: ComponentChildren;
}

export function StatsView({ resource, arrivingSince, toolbar, children }: StatsViewProps) {
  const { query } = usePlace();
  const [showsBots, setShowsBots] = useState(false);
  const { value, problem, isLoading, isCompared } = resource;
  const range = value?.range ?? shownRange(query);
  if (value === undefined && problem !== undefined)
    return <Failure problem={problem} onRetry={resource.reload} />;
  const arriving = value === undefined ? 0 : (arrivingSince?.(value.askedAtMs) ?? 0);
  return (
    <div class="stats" aria-busy={isLoading}>
      <StatsToolbar range={shownRange(query)} isCompared={isCompared}>
        {toolbar}
      </StatsToolbar>
      {value === undefined ? (
        <StatsSkeleton />
      ) : (
        <>
          <section class="card chart-card" aria-label={texts.stats.overTime}>
            <Figures stats={value.stats} previous={value.previous} arriving={arriving} />
            <TimeChart
              series={withArriving(value.stats.series, arriving)}
              previous={value.previous?.series}
              interval={range.interval}
              showsBots={showsBots}
              onZoom={(fromMs, toMs) =>
                setQuery({ ...zoomed(fromMs, toMs, timeZone), interval: undefined }, { isStep: true })
              }
              onZoomOut={() => setQuery(wholeRange)}
            />
            <Legend
              showsBots={showsBots}
              onShowsBots={setShowsBots}
              isCompared={value.previous !== undefined}
              hasFilling={value.stats.series.some(({ filling }) => filling)}
            />
          </section>
          {children}
          <Breakdowns stats={value.stats} />
        </>
      )}
    </div>
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
  readonly isCompared: boolean;
  readonly hasFilling: boolean;
}

function Legend({ showsBots, onShowsBots, isCompared, hasFilling }: LegendProps) {
  return (
    <div class="legend">
      <span class="legend-item legend-clicks">{texts.stats.people}</span>
      {hasFilling && <span class="legend-item legend-filling">{texts.stats.filling}</span>}
      {isCompared && <span class="legend-item legend-previous">{texts.stats.previousPeriod}</span>}
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
