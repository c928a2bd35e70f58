/**
 * The report in the documents, made from what was last recorded of each scenario: a page of tables and plots.
 * A run of one scenario renews the part of that scenario and leaves the others as they were.
 */
import { cpuRatioColumn, rateRatioColumn } from './contest.ts';
import type { Circumstances, HistoryEntry } from './history.ts';
import { type Dot, type DotsPlot, dotOf, type LinesPlot, type Plot, type Point } from './plot.ts';
import { type CellRecord, cellText, type TableRecord } from './table.ts';

export interface ScenarioRecord extends Circumstances {
  readonly summary: string;
  readonly tables: readonly TableRecord[];
  readonly plots: readonly Plot[];
}

/** By the name of the scenario, in the order of the report. */
export type Latest = Readonly<Record<string, ScenarioRecord>>;

const heading = `# Benchmarks

Written by \`npm run bench -- --record\`, which provides nginx and wrk by itself. Absolute figures are those of the
machine they were taken on; the ratios say more. A figure is the median of its rounds, with the smallest and the
largest in parentheses. The server has one core to itself unless its table says otherwise, clicks are recorded, and
nginx answers \`return 302\` from a map with its access log on. The medians of every recorded run are in
[history.ndjson](history.ndjson), all values of the last one in [latest.json](latest.json).
`;

export function renderReport(latest: Latest, history: readonly HistoryEntry[]): string {
  const overview = overviewPlots(latest, history).map(image);
  const sections = Object.entries(latest).map(([name, record]) => section(name, record));
  return [heading, ...overview, ...sections].join('\n');
}

/** Every plot of the report; the names of their files are the names of the plots. */
export function plotsOf(latest: Latest, history: readonly HistoryEntry[]): Plot[] {
  return [...overviewPlots(latest, history), ...Object.values(latest).flatMap(({ plots }) => plots)];
}

function section(
  name: string,
  { summary, at, machine, runtime, scaledDown, tables, plots }: ScenarioRecord,
): string {
  const scale = scaledDown.length === 0 ? '' : ` Scaled down: ${scaledDown.join('; ')}.`;
  const origin = `${at.slice(0, 10)}, ${machine}, ${runtime}.${scale}\n`;
  return [`## ${name}: ${summary}\n`, origin, ...plots.map(image), ...tables.map(renderMarkdown)].join('\n');
}

const image = ({ title, name }: Plot): string => `![${escapeMarkdown(title)}](${name}.svg)\n`;

export function renderMarkdown({ title, columns, rows, notes }: TableRecord): string {
  const isFigure = columns.map((_, index) => rows.some(row => typeof row[index] === 'object'));
  const line = (cells: readonly string[]): string => `| ${cells.map(escapeMarkdown).join(' | ')} |`;
  return [
    `**${escapeMarkdown(title)}**`,
    '',
    line(columns),
    `|${isFigure.map(figure => (figure ? ' ---: ' : ' --- ')).join('|')}|`,
    ...rows.map(row => line(row.map(cellText))),
    '',
    ...notes.map(note => `- ${escapeMarkdown(note)}`),
    ...(notes.length === 0 ? [] : ['']),
  ].join('\n');
}

function escapeMarkdown(text: string): string {
  return text.replace(/[|<>[\]*_`\\]/g, character => `\\${character}`);
}

function overviewPlots(latest: Latest, history: readonly HistoryEntry[]): Plot[] {
  const comparisons = comparisonsIn(latest);
  const ratios: DotsPlot = {
    kind: 'dots',
    name: 'beside-nginx',
    title: 'Terse beside nginx with its access log on the same cores',
    unit: 'times nginx; further right is better',
    scale: 'linear',
    series: ['requests per second', 'thrift with CPU time'],
    rows: comparisons.map(({ label, rate, cpu }) => ({ label, dots: [rate, cpu] })),
    mark: { at: 1, label: 'as nginx' },
  };
  const course = coursePlot(history);
  return [...(comparisons.length === 0 ? [] : [ratios]), ...(course === undefined ? [] : [course])];
}

function comparisonsIn(latest: Latest) {
  return Object.entries(latest).flatMap(([scenario, { tables }]) =>
    tables.flatMap(({ columns, rows }) =>
      rows.flatMap(row => {
        const rate = figureOf(row[columns.indexOf(rateRatioColumn)]);
        const cpu = figureOf(row[columns.indexOf(cpuRatioColumn)]);
        return rate === null ? [] : [{ label: shortened(`${scenario}: ${cellText(row[0]!)}`), rate, cpu }];
      }),
    ),
  );
}

function figureOf(cell: CellRecord | undefined): Dot | null {
  return cell === undefined || typeof cell === 'string' ? null : dotOf({ values: cell.values, digits: 0 });
}

const labelMax = 38;
const shortened = (label: string): string =>
  label.length <= labelMax ? label : `${label.slice(0, labelMax - 1)}…`;

/** How the ratios of the warm redirects went from run to run; undefined until there are two runs. */
function coursePlot(history: readonly HistoryEntry[]): LinesPlot | undefined {
  const courses = new Map<string, Point[]>();
  history.forEach(({ medians }, run) => {
    for (const table of Object.values(medians.warm ?? {})) {
      for (const [label, figures] of Object.entries(table)) {
        const value = figures[rateRatioColumn];
        if (value !== undefined) courses.set(label, [...(courses.get(label) ?? []), [run + 1, value]]);
      }
    }
  });
  const lines = [...courses].filter(([, points]) => points.length > 1);
  if (lines.length === 0) return undefined;
  return {
    kind: 'lines',
    name: 'course',
    title: 'Warm redirects from recorded run to recorded run',
    along: 'recorded runs',
    panels: [{ unit: 'times nginx', lines: lines.map(([name, points]) => ({ name, points })) }],
  };
}
