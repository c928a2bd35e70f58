/**
 * Plots as data, so that they can be kept beside the figures and drawn again. Two kinds are enough: dots, which
 * compare figures with their spread, and lines, which follow figures along something.
 */
import { type Measure, median } from './measure.ts';
import { formatTick, linearScale, logScale, spanScale } from './scale.ts';
import { element, legend, seriesCount, sheet, text } from './svg.ts';

export type Plot = DotsPlot | LinesPlot;

interface PlotHead {
  /** The name of the file, without its ending. */
  readonly name: string;
  readonly title: string;
}

export interface DotsPlot extends PlotHead {
  readonly kind: 'dots';
  readonly unit: string;
  readonly scale: 'linear' | 'log';
  readonly series: readonly string[];
  /** One dot for each series; one that could not be measured is null. */
  readonly rows: readonly { readonly label: string; readonly dots: readonly (Dot | null)[] }[];
  readonly mark?: { readonly at: number; readonly label: string };
}

export interface Dot {
  readonly value: number;
  readonly low: number;
  readonly high: number;
}

/** A figure with its spread over the rounds; null when there is none. */
export function dotOf({ values }: Measure): Dot | null {
  const finite = values.filter(Number.isFinite);
  if (finite.length === 0) return null;
  return { value: median(finite), low: Math.min(...finite), high: Math.max(...finite) };
}

export interface LinesPlot extends PlotHead {
  readonly kind: 'lines';
  readonly along: string;
  /** One above the other, along the same axis. */
  readonly panels: readonly {
    readonly unit: string;
    readonly lines: readonly { readonly name: string; readonly points: readonly Point[] }[];
  }[];
  readonly marks?: readonly { readonly at: number; readonly label: string }[];
}

export type Point = readonly [along: number, value: number];

const width = 760;
const rightSpace = 28;
const headHeight = 64;
const axisHeight = 44;

export function drawPlot(plot: Plot): string {
  return plot.kind === 'dots' ? drawDots(plot) : drawLines(plot);
}

const rowHeight = 30;
const labelSpace = 270;
const seriesGap = 5;

function drawDots({ title, unit, scale: kind, series, rows, mark }: DotsPlot): string {
  const figures = rows.flatMap(({ dots }) => dots.flatMap(dot => (dot === null ? [] : [dot.low, dot.high])));
  const all = mark === undefined ? figures : [...figures, mark.at];
  const scale = kind === 'log' ? logScale(all) : linearScale(all, 8);
  const xOf = (value: number): number => labelSpace + scale.at(value) * (width - labelSpace - rightSpace);
  const bottom = headHeight + rows.length * rowHeight;
  const grid = scale.ticks.map(tick => {
    const x = xOf(tick);
    return (
      element('line', { class: 'grid', x1: x, x2: x, y1: headHeight - 8, y2: bottom }) +
      text(x, bottom + 18, formatTick(tick), { class: 'quiet', 'text-anchor': 'middle' })
    );
  });
  const drawn = rows.map(({ label, dots }, row) => {
    const middle = headHeight + (row + 0.5) * rowHeight;
    const shapes = dots.map((dot, index) => {
      if (dot === null || !Number.isFinite(dot.value)) return '';
      // A little apart, so that equal figures do not hide each other.
      const y = middle + (index - (dots.length - 1) / 2) * seriesGap;
      const [x, color] = [xOf(dot.value), index % seriesCount];
      return (
        element('line', { class: `spread s${color}`, x1: xOf(dot.low), x2: xOf(dot.high), y1: y, y2: y }) +
        element('circle', { class: `f${color}`, cx: x, cy: y, r: 5 })
      );
    });
    return text(labelSpace - 14, middle + 4, label, { 'text-anchor': 'end' }) + shapes.join('');
  });
  const markShape =
    mark === undefined
      ? ''
      : element('line', {
          class: 'mark',
          x1: xOf(mark.at),
          x2: xOf(mark.at),
          y1: headHeight - 8,
          y2: bottom,
        }) + text(xOf(mark.at) + 5, headHeight - 10, mark.label, { class: 'mark-text' });
  return sheet(width, bottom + axisHeight, title, [
    legend(16, 48, series),
    ...grid,
    markShape,
    ...drawn,
    text(width - rightSpace, bottom + 36, unit, { class: 'quiet', 'text-anchor': 'end' }),
  ]);
}

const panelHeight = 150;
const panelGap = 34;
const tickSpace = 64;

function drawLines({ title, along, panels, marks = [] }: LinesPlot): string {
  const places = panels.flatMap(({ lines }) => lines.flatMap(({ points }) => points.map(([place]) => place)));
  const alongScale = spanScale(places, 10);
  const xOf = (place: number): number => tickSpace + alongScale.at(place) * (width - tickSpace - rightSpace);
  const bottom = headHeight + panels.length * (panelHeight + panelGap);
  const drawn = panels.map(({ unit, lines }, panel) => {
    const top = headHeight + panel * (panelHeight + panelGap) + 12;
    const scale = linearScale(
      lines.flatMap(({ points }) => points.map(([, value]) => value)),
      4,
    );
    const yOf = (value: number): number => top + (1 - scale.at(value)) * panelHeight;
    const grid = scale.ticks.map(
      tick =>
        element('line', {
          class: 'grid',
          x1: tickSpace,
          x2: width - rightSpace,
          y1: yOf(tick),
          y2: yOf(tick),
        }) + text(tickSpace - 8, yOf(tick) + 4, formatTick(tick), { class: 'quiet', 'text-anchor': 'end' }),
    );
    const strokes = lines.map(({ points }, index) =>
      element('polyline', {
        class: `line s${index % seriesCount}`,
        points: points
          .filter(([, value]) => Number.isFinite(value))
          .map(([place, value]) => `${xOf(place).toFixed(1)},${yOf(value).toFixed(1)}`)
          .join(' '),
      }),
    );
    const names = legend(
      tickSpace,
      top - 8,
      lines.map(({ name }) => `${name}, ${unit}`),
    );
    return [names, ...grid, ...strokes].join('\n');
  });
  const ticks = alongScale.ticks.map(tick =>
    text(xOf(tick), bottom - 6, formatTick(tick), { class: 'quiet', 'text-anchor': 'middle' }),
  );
  const markShapes = marks.map(
    ({ at, label }) =>
      element('line', { class: 'mark', x1: xOf(at), x2: xOf(at), y1: headHeight, y2: bottom - 20 }) +
      text(xOf(at) + 5, headHeight - 6, label, { class: 'mark-text' }),
  );
  const axis = text((tickSpace + width - rightSpace) / 2, bottom + 14, along, {
    class: 'quiet',
    'text-anchor': 'middle',
  });
  return sheet(width, bottom + 28, title, [...drawn, ...ticks, axis, ...markShapes]);
}
