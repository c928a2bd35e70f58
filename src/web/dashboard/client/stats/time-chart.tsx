/** Clicks over time. Drag across to zoom in; the line is dashed where buckets are still in progress. */
import type { ComponentChildren } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { texts } from '../../texts.ts';
import type { Bucket, Interval } from '../api/types.ts';
import { formatCompact, formatIn, formatNumber } from '../format.ts';
import { language } from '../language.ts';
import { useStore } from '../state/store.ts';
import { type ComparisonName, chartData, peakOf } from './range.ts';

interface TimeChartProps {
  readonly series: readonly Bucket[];
  readonly previous: readonly Bucket[] | undefined;
  readonly comparison: ComparisonName | undefined;
  readonly interval: Interval;
  readonly timeZone: string;
  readonly showsBots: boolean;
  readonly onZoom: (fromMs: number, toMs: number) => void;
  readonly onZoomOut: () => void;
}

interface Pointed {
  readonly index: number;
  readonly leftPx: number;
}

export function TimeChart(props: TimeChartProps) {
  const { series, previous, comparison, interval, timeZone, showsBots, onZoom, onZoomOut } = props;
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [pointed, setPointed] = useState<Pointed>();
  const theme = useTheme();
  const locale = useStore(language);
  const zoom = useRef(onZoom);
  zoom.current = onZoom;

  // The plot is created again when its appearance changes; new numbers only update it.
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const options = chartOptions({
      widthPx: element.clientWidth,
      heightPx: element.clientHeight,
      timeZone,
      showsBots,
      hasPrevious: previous !== undefined,
      onPoint: setPointed,
      onSelect: (fromMs, toMs) => zoom.current(fromMs, toMs),
    });
    const made = new uPlot(options, columns(series, previous), element);
    plot.current = made;
    const resizing = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: element.clientHeight }),
    );
    resizing.observe(element);
    return () => {
      resizing.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [timeZone, showsBots, previous !== undefined, theme, locale]);
  useEffect(() => plot.current?.setData(columns(series, previous)), [series, previous]);

  const peak = peakOf(series);
  const isEmpty = series.every(({ clicks, botClicks }) => clicks + (showsBots ? botClicks : 0) === 0);
  const summary =
    peak === undefined || peak.clicks === 0
      ? texts.stats.chartEmpty
      : texts.stats.chartSummary(
          series.length,
          formatNumber(peak.clicks),
          formatIn(interval, peak.start, timeZone),
        );
  return (
    <figure class="chart" onDblClick={onZoomOut}>
      <div class="chart-plot" ref={place} role="img" aria-label={summary} />
      <ChartTable {...props} />
      {isEmpty && (
        <p class="chart-empty" aria-hidden="true">
          {texts.stats.chartEmpty}
        </p>
      )}
      {pointed !== undefined && series[pointed.index] !== undefined && (
        <ChartNote
          bucket={series[pointed.index]!}
          before={previous?.[pointed.index]}
          comparison={comparison}
          interval={interval}
          timeZone={timeZone}
          showsBots={showsBots}
          leftPx={pointed.leftPx}
          isRight={pointed.leftPx > (place.current?.clientWidth ?? 0) / 2}
        />
      )}
    </figure>
  );
}

/** A longer table is useless in a screen reader; a shorter range has fewer rows. */
const tableRowsMax = 400;

/** The chart for screen readers, inside an element that hides it: a hidden table alone would still take space. */
function ChartTable({ series, previous, comparison, interval, timeZone }: TimeChartProps) {
  const locale = useStore(language);
  const table = (): ComponentChildren =>
    series.length <= tableRowsMax && (
      <div class="visually-hidden">
        <table>
          <caption>{texts.stats.overTime}</caption>
          <thead>
            <tr>
              <th>{texts.log.time}</th>
              <th>{texts.stats.clicks}</th>
              <th>{texts.stats.bots}</th>
              {previous !== undefined && comparison !== undefined && (
                <th>{texts.stats.comparisons[comparison]}</th>
              )}
            </tr>
          </thead>
          <tbody>
            {series.map(({ start, clicks, botClicks }, index) => (
              <tr key={start}>
                <th scope="row">{formatIn(interval, start, timeZone)}</th>
                <td>{formatNumber(clicks)}</td>
                <td>{formatNumber(botClicks)}</td>
                {previous !== undefined && comparison !== undefined && (
                  <td>{formatNumber(previous[index]?.clicks ?? 0)}</td>
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    );
  return <>{useMemo(table, [series, previous, comparison, interval, timeZone, locale])}</>;
}

function columns(series: readonly Bucket[], previous: readonly Bucket[] | undefined): uPlot.AlignedData {
  const data = chartData(series, previous);
  return [data.times, data.previous, data.bots, data.clicks, data.filling];
}

interface ChartNoteProps {
  readonly bucket: Bucket;
  readonly before: Bucket | undefined;
  readonly comparison: ComparisonName | undefined;
  readonly interval: Interval;
  readonly timeZone: string;
  readonly showsBots: boolean;
  readonly leftPx: number;
  readonly isRight: boolean;
}

function ChartNote(props: ChartNoteProps) {
  const { bucket, before, comparison, interval, timeZone, showsBots, leftPx, isRight } = props;
  return (
    <figcaption class={isRight ? 'chart-note chart-note-left' : 'chart-note'} style={{ left: `${leftPx}px` }}>
      <strong>{formatIn(interval, bucket.start, timeZone)}</strong>
      <span class="note-clicks">{texts.stats.clicksCount(bucket.clicks)}</span>
      {bucket.suspiciousClicks > 0 && (
        <em>{texts.stats.suspiciousCount(formatNumber(bucket.suspiciousClicks))}</em>
      )}
      {before !== undefined && comparison !== undefined && (
        <span class="note-previous">
          {texts.stats.previousCount(formatNumber(before.clicks), formatIn(interval, before.start, timeZone))}
        </span>
      )}
      {showsBots && <span class="note-bots">{texts.stats.botsCount(bucket.botClicks)}</span>}
      {bucket.filling && <em>{texts.stats.filling}</em>}
    </figcaption>
  );
}

interface ChartLook {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly timeZone: string;
  readonly showsBots: boolean;
  readonly hasPrevious: boolean;
  readonly onPoint: (pointed: { index: number; leftPx: number } | undefined) => void;
  readonly onSelect: (fromMs: number, toMs: number) => void;
}

/** A drag shorter than this is a click. */
const dragMinPx = 8;

const dayS = 86_400;

function tickText(seconds: number, stepS: number, timeZone: string): string {
  const atMs = seconds * 1_000;
  if (stepS >= 25 * dayS) return formatIn('tickMonth', atMs, timeZone);
  if (stepS >= dayS) return formatIn('tickDay', atMs, timeZone);
  const time = formatIn('tickTime', atMs, timeZone);
  return time === '00:00' ? formatIn('tickDay', atMs, timeZone) : time;
}

/**
 * The appearance of the plot. Colours come from the style sheet's tokens, so that light and dark are decided in one
 * place.
 */
function chartOptions(look: ChartLook): uPlot.Options {
  const styles = getComputedStyle(document.documentElement);
  const colour = (token: string): string => styles.getPropertyValue(`--${token}`).trim();
  const font = `12px ${styles.getPropertyValue('--sans')}`;
  const gradient = (plot: uPlot): CanvasGradient => {
    const fill = plot.ctx.createLinearGradient(0, plot.bbox.top, 0, plot.bbox.top + plot.bbox.height);
    fill.addColorStop(0, colour('chart-fill'));
    fill.addColorStop(1, colour('chart-fill-end'));
    return fill;
  };
  const axis = { stroke: colour('ink-soft'), font, ticks: { show: false }, border: { show: false } };
  const line = { width: 2, points: { show: false } };
  return {
    width: look.widthPx,
    height: look.heightPx,
    padding: [12, 20, 0, 0],
    legend: { show: false },
    // Ticks are at full hours and midnights of the zone.
    tzDate: seconds => uPlot.tzDate(new Date(seconds * 1_000), look.timeZone),
    cursor: {
      y: false,
      points: {
        size: 9,
        width: 2,
        fill: colour('surface'),
        stroke: (_, index) => colour(index === 2 ? 'chart-bots' : 'chart'),
      },
      drag: { x: true, y: false, setScale: true, dist: dragMinPx },
    },
    scales: { y: { range: (_, __, max) => [0, Math.max(4, max * 1.08)] } },
    axes: [
      {
        ...axis,
        grid: { show: false },
        size: 34,
        space: 72,
        values: (_, ticks) => {
          const stepS = ticks.length > 1 ? ticks[1]! - ticks[0]! : dayS;
          return ticks.map(tick => tickText(tick, stepS, look.timeZone));
        },
        gap: 8,
      },
      {
        ...axis,
        size: 48,
        grid: { stroke: colour('chart-grid'), width: 1 },
        values: (_, ticks) => ticks.map(tick => (Number.isInteger(tick) ? formatCompact(tick) : '')),
      },
    ],
    series: [
      {},
      { ...line, show: look.hasPrevious, stroke: colour('chart-previous'), dash: [2, 4], width: 1.5 },
      { ...line, show: look.showsBots, stroke: colour('chart-bots'), width: 1.5 },
      { ...line, stroke: colour('chart'), fill: gradient },
      { ...line, stroke: colour('chart'), fill: gradient, dash: [5, 4] },
    ],
    hooks: {
      setCursor: [
        plot => {
          const { idx, left } = plot.cursor;
          const isInside = idx !== null && idx !== undefined && left !== undefined && left >= 0;
          look.onPoint(
            isInside
              ? { index: idx, leftPx: plot.valToPos(plot.data[0][idx]!, 'x') + plot.over.offsetLeft }
              : undefined,
          );
        },
      ],
      setSelect: [
        plot => {
          if (plot.select.width < dragMinPx) return;
          const fromMs = plot.posToVal(plot.select.left, 'x') * 1_000;
          const toMs = plot.posToVal(plot.select.left + plot.select.width, 'x') * 1_000;
          look.onSelect(fromMs, toMs);
        },
      ],
    },
  };
}

/** The active theme, for drawings that read their colours from the style sheet. */
function useTheme(): string {
  const [theme, setTheme] = useState(document.documentElement.dataset.theme ?? 'light');
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme(document.documentElement.dataset.theme ?? 'light'));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
    return () => observer.disconnect();
  }, []);
  return theme;
}
