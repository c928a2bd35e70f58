/** Statistics at a glance, for one link, a tag, or everything. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { texts } from '../../texts.ts';
import { readStats, type StatsOf, type StatsRange } from '../api/calls.ts';
import { ApiProblem } from '../api/request.ts';
import type { Bucket, Stats } from '../api/types.ts';
import { formatCompact, formatMoment, formatNumber, formatPercent } from '../format.ts';
import { timeZone } from '../site.ts';
import { type Resource, useResource } from '../state/connection.ts';
import { setQuery, usePlace } from '../state/router.ts';
import { Button } from '../ui/button.tsx';
import { Segments, Select } from '../ui/field.tsx';
import { Failure, Skeleton } from '../ui/page.tsx';
import { Breakdowns } from './breakdowns.tsx';
import {
  type ChosenRange,
  defaultPreset,
  intervalsFor,
  presets,
  previousOf,
  rangeOf,
  zoomed,
} from './range.ts';
import { TimeChart } from './time-chart.tsx';

interface StatsViewProps {
  readonly resource: Resource<ShownStats> & { readonly isCompared: boolean };
  /** Live clicks that are not in the numbers yet. */
  readonly arrivingSince?: (askedAtMs: number) => number;
  readonly toolbar?: ComponentChildren;
  /** Between the chart and the breakdowns. */
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

interface StatsToolbarProps {
  readonly range: ChosenRange;
  readonly isCompared: boolean;
  readonly children?: ComponentChildren;
}

const wholeRange = { from: undefined, to: undefined, interval: undefined };

/** Time range, interval and comparison. All of it is kept in the address bar. */
function StatsToolbar({ range, isCompared, children }: StatsToolbarProps) {
  const intervals = intervalsFor(range.fromMs, range.toMs, minutesFromMs());
  return (
    <div class="stats-toolbar">
      <Segments
        label={texts.stats.range}
        value={range.preset}
        choices={presets.map(value => ({ value, label: texts.stats.presets[value] }))}
        onValue={preset => setQuery({ ...wholeRange, range: preset === defaultPreset ? undefined : preset })}
      />
      {range.preset === undefined && (
        <span class="zoomed-range">
          {texts.stats.between(formatMoment(range.fromMs), formatMoment(range.toMs))}
          <Button small icon="close" onClick={() => setQuery(wholeRange)}>
            {texts.stats.resetZoom}
          </Button>
        </span>
      )}
      <span class="spacer" />
      {children}
      {intervals.length > 1 && (
        <Select
          label={texts.stats.interval}
          value={range.interval}
          choices={intervals.map(value => ({ value, label: texts.stats.intervals[value] }))}
          onValue={interval => setQuery({ interval })}
        />
      )}
      <button
        type="button"
        class="button button-plain"
        aria-pressed={isCompared}
        onClick={() => setQuery({ compare: isCompared ? undefined : 'on' })}
      >
        {texts.stats.compare}
      </button>
    </div>
  );
}

interface FiguresProps {
  readonly stats: Stats;
  readonly previous: Stats | undefined;
  /** Live clicks that the numbers do not include yet. */
  readonly arriving: number;
}

/** The most important numbers, each compared with the previous period on request. */
function Figures({ stats, previous, arriving }: FiguresProps) {
  const { range } = stats;
  const before = previous?.range;
  return (
    <dl class="figures">
      <Figure
        label={texts.stats.clicks}
        value={range.clicks + arriving}
        before={before?.clicks}
        isMoving={arriving > 0}
      />
      <Figure label={texts.stats.visitors} value={range.visitors} before={before?.visitors} />
      <Figure label={texts.stats.last24h} value={stats.clicks24h + arriving} before={undefined} />
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
      <dd title={formatNumber(value)}>
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
  if (before === 0) return <span class="change">{value === 0 ? '±0%' : texts.stats.fresh}</span>;
  const share = (value - before) / before;
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

interface ShownStats {
  readonly stats: Stats;
  readonly previous: Stats | undefined;
  readonly range: ChosenRange;
  /** When it was requested; clicks that arrived later are not in it. */
  readonly askedAtMs: number;
}

const refreshMs = 30_000;
/** The default of the setting; the first answer has the operator's value. */
const usualMinuteDaysMs = 14 * 24 * 60 * 60_000;

/** Single minutes are kept from here on; zero until a server has said so. */
let shownMinutesFromMs = 0;

function minutesFromMs(): number {
  return shownMinutesFromMs === 0 ? browserClock.now() - usualMinuteDaysMs : shownMinutesFromMs;
}

/** The range in the address bar. */
const shownRange = (query: URLSearchParams, nowMs = browserClock.now()): ChosenRange =>
  rangeOf(query, { nowMs, timeZone, minutesFromMs: minutesFromMs() });

/** The numbers of a range, with those of the previous period when they are to be compared. */
export function useStats(of: StatsOf): Resource<ShownStats> & { readonly isCompared: boolean } {
  const { query } = usePlace();
  const isCompared = query.get('compare') === 'on';
  const key = ['range', 'from', 'to', 'interval', 'compare'].map(name => query.get(name) ?? '').join('|');
  const resource = useResource(`${of.code ?? ''}|${of.tag ?? ''}|${key}`, async signal => {
    const askedAtMs = browserClock.now();
    const range = shownRange(query, askedAtMs);
    const stats = await withHours(range, asked => readStats(of, asked, timeZone, signal));
    shownMinutesFromMs = Date.parse(stats.minutesFrom);
    const previous = isCompared
      ? await withHours(previousOf(stats, timeZone), asked => readStats(of, asked, timeZone, signal))
      : undefined;
    return { stats, previous, range: { ...range, interval: stats.interval }, askedAtMs };
  });
  const { reload } = resource;
  useEffect(
    () =>
      browserClock.every(refreshMs, () => {
        if (document.visibilityState === 'visible') reload();
      }),
    [reload],
  );
  return { ...resource, isCompared };
}

/** Minutes that are no longer kept are answered in hours. */
async function withHours(range: StatsRange, read: (range: StatsRange) => Promise<Stats>): Promise<Stats> {
  try {
    return await read(range);
  } catch (error) {
    const isRefused = error instanceof ApiProblem && error.status === 400 && range.interval === 'minute';
    if (!isRefused) throw error;
    return read({ ...range, interval: 'hour' });
  }
}
