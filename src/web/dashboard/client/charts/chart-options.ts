/** How the plot looks. Colours come from the style sheet's tokens, so that light and dark are decided in one place. */
import type uPlot from 'uplot';
import type { Interval } from '../api/types.ts';
import { formatCompact } from '../format.ts';

export interface ChartLook {
  readonly widthPx: number;
  readonly heightPx: number;
  readonly interval: Interval;
  readonly showsBots: boolean;
  readonly hasPrevious: boolean;
  readonly onPoint: (pointed: { index: number; leftPx: number } | undefined) => void;
  readonly onSelect: (fromMs: number, toMs: number) => void;
}

/** A drag shorter than this is a click. */
const dragMinPx = 8;

const locale = 'en';
const timeOfDay = new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
const dayOfMonth = new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' });
const monthOfYear = new Intl.DateTimeFormat(locale, { month: 'short', year: '2-digit' });
const dayS = 86_400;

function tickText(seconds: number, stepS: number): string {
  const moment = new Date(seconds * 1_000);
  if (stepS >= 25 * dayS) return monthOfYear.format(moment);
  if (stepS >= dayS) return dayOfMonth.format(moment);
  const isMidnight = moment.getHours() === 0 && moment.getMinutes() === 0;
  return isMidnight ? dayOfMonth.format(moment) : timeOfDay.format(moment);
}

export function chartOptions(look: ChartLook): uPlot.Options {
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
          return ticks.map(tick => tickText(tick, stepS));
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
