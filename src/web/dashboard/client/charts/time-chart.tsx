/** Clicks over time. Drag across to zoom in; the line goes dashed where buckets are still filling. */
import { useEffect, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { texts } from '../../texts.ts';
import type { Bucket, Interval } from '../api/types.ts';
import { formatBucket, formatNumber } from '../format.ts';
import { chartData, peakOf } from './chart-data.ts';
import { chartOptions } from './chart-options.ts';
import { useTheme } from './use-theme.ts';

export interface TimeChartProps {
  readonly series: readonly Bucket[];
  readonly previous: readonly Bucket[] | undefined;
  readonly interval: Interval;
  readonly showsBots: boolean;
  readonly onZoom: (fromMs: number, toMs: number) => void;
  readonly onZoomOut: () => void;
}

interface Pointed {
  readonly index: number;
  readonly leftPx: number;
}

export function TimeChart({ series, previous, interval, showsBots, onZoom, onZoomOut }: TimeChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | undefined>(undefined);
  const [pointed, setPointed] = useState<Pointed>();
  const theme = useTheme();
  const zoom = useRef(onZoom);
  zoom.current = onZoom;

  // The plot is made anew when its looks change; new numbers are only put into it.
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const options = chartOptions({
      widthPx: element.clientWidth,
      heightPx: element.clientHeight,
      interval,
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
  }, [interval, showsBots, previous !== undefined, theme]);
  useEffect(() => plot.current?.setData(columns(series, previous)), [series, previous]);

  const peak = peakOf(series);
  const summary =
    peak === undefined || peak.clicks === 0
      ? texts.stats.chartEmpty
      : texts.stats.chartSummary(
          series.length,
          formatNumber(peak.clicks),
          formatBucket(Date.parse(peak.start), interval),
        );
  return (
    <figure class="chart" onDblClick={onZoomOut}>
      <div class="chart-plot" ref={place} role="img" aria-label={summary} />
      {pointed !== undefined && series[pointed.index] !== undefined && (
        <ChartNote
          bucket={series[pointed.index]!}
          before={previous?.[pointed.index]}
          interval={interval}
          leftPx={pointed.leftPx}
          isRight={pointed.leftPx > (place.current?.clientWidth ?? 0) / 2}
        />
      )}
    </figure>
  );
}

function columns(series: readonly Bucket[], previous: readonly Bucket[] | undefined): uPlot.AlignedData {
  const data = chartData(series, previous);
  return [data.times, data.previous, data.bots, data.clicks, data.filling];
}

interface ChartNoteProps {
  readonly bucket: Bucket;
  readonly before: Bucket | undefined;
  readonly interval: Interval;
  readonly leftPx: number;
  readonly isRight: boolean;
}

function ChartNote({ bucket, before, interval, leftPx, isRight }: ChartNoteProps) {
  return (
    <figcaption class={isRight ? 'chart-note chart-note-left' : 'chart-note'} style={{ left: `${leftPx}px` }}>
      <strong>{formatBucket(Date.parse(bucket.start), interval)}</strong>
      <span class="note-clicks">{texts.stats.clicksCount(formatNumber(bucket.clicks))}</span>
      {before !== undefined && (
        <span class="note-previous">{texts.stats.previousCount(formatNumber(before.clicks))}</span>
      )}
      {bucket.suspiciousClicks > 0 && (
        <em>{texts.stats.suspiciousCount(formatNumber(bucket.suspiciousClicks))}</em>
      )}
      {bucket.botClicks > 0 && (
        <span class="note-bots">{texts.stats.botsCount(formatNumber(bucket.botClicks))}</span>
      )}
      {bucket.filling && <em>{texts.stats.filling}</em>}
    </figcaption>
  );
}
