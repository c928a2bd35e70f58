import { expect, test } from 'bun:test';
import type { HistoryEntry } from './history.ts';
import { measure } from './measure.ts';
import { type DotsPlot, drawPlot, type LinesPlot } from './plot.ts';
import { type Latest, plotsOf, renderMarkdown, renderReport } from './report.ts';
import { tableRecord } from './table.ts';

const table = tableRecord({
  title: 'Redirects | from <memory>',
  columns: ['server', 'requests/s', 'rate to nginx', 'nginx CPU to its'],
  rows: [
    ['nginx', measure(120_000), measure([]), measure([])],
    ['Terse, one link', measure([90_000, 110_000]), measure([0.8, 0.9], 2), measure([0.7, 0.7], 2)],
  ],
  notes: ['One core.'],
});
const soakPlot: LinesPlot = {
  kind: 'lines',
  name: 'soak',
  title: 'Memory',
  along: 'minutes',
  panels: [{ unit: 'MiB', lines: [{ name: 'resident', points: [[0, 1]] }] }],
};
const circumstances = {
  at: '2026-01-02T03:04:05.000Z',
  version: '1.0.0',
  machine: 'Processor, 2 cores',
  runtime: 'Bun 1.4.4',
  client: 'wrk',
  scaledDown: ['links 1 of 10'],
};
const latest: Latest = {
  warm: { ...circumstances, summary: 'from memory', tables: [table], plots: [] },
  soak: { ...circumstances, summary: 'for long', scaledDown: [], tables: [], plots: [soakPlot] },
};

test('a table of the report has its figures to the right and no markup in its words', () => {
  expect(renderMarkdown(table).split('\n')).toEqual([
    '**Redirects \\| from \\<memory\\>**',
    '',
    '| server | requests/s | rate to nginx | nginx CPU to its |',
    '| --- | ---: | ---: | ---: |',
    '| nginx | 120,000 | – | – |',
    '| Terse, one link | 100,000 (90,000..110,000) | 0.85 (0.80..0.90) | 0.70 |',
    '',
    '- One core.',
    '',
  ]);
});

test('the report has every scenario in order, its circumstances, and every plot that is drawn', () => {
  const report = renderReport(latest, []);
  expect([...report.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
    'warm: from memory',
    'soak: for long',
  ]);
  expect(report).toContain('2026-01-02, Processor, 2 cores, Bun 1.4.4. Scaled down: links 1 of 10.');
  const shown = [...report.matchAll(/\]\(([\w-]+)\.svg\)/g)].map(([, name]) => name!);
  expect(shown).toEqual(plotsOf(latest, []).map(({ name }) => name));
  expect(shown).toEqual(['beside-nginx', 'soak']);
});

test('what was compared with nginx is in the first plot, and nothing else is', () => {
  const [ratios] = plotsOf(latest, []) as [DotsPlot];
  expect(ratios.rows).toEqual([
    {
      label: 'warm: Terse, one link',
      dots: [
        { value: expect.closeTo(0.85, 9), low: 0.8, high: 0.9 },
        { value: 0.7, low: 0.7, high: 0.7 },
      ],
    },
  ]);
  expect(drawPlot(ratios)).toContain('warm: Terse, one link');
});

test('the course of the ratios is drawn as soon as there are two runs', () => {
  const run = (ratio: number): HistoryEntry => ({
    ...circumstances,
    medians: { warm: { Redirects: { 'Terse, one link': { 'rate to nginx': ratio }, nginx: { other: 1 } } } },
  });
  expect(plotsOf(latest, [run(0.5)]).map(({ name }) => name)).not.toContain('course');
  const [, course] = plotsOf(latest, [run(0.5), run(0.9)]) as [DotsPlot, LinesPlot];
  expect(course.panels[0]!.lines).toEqual([
    {
      name: 'Terse, one link',
      points: [
        [1, 0.5],
        [2, 0.9],
      ],
    },
  ]);
});
