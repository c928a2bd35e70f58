import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readHistory } from './history.ts';
import { measure } from './measure.ts';
import type { Plot } from './plot.ts';
import { recordResults } from './record.ts';
import { tableRecord } from './table.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'terse-bench-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const circumstances = {
  at: '2026-01-02T03:04:05.000Z',
  version: '1.0.0',
  machine: 'Processor, 2 cores',
  runtime: 'Bun 1.4.4',
  client: 'wrk',
  scaledDown: [],
};
const resultOf = (figure: number, plotName: string) => ({
  ...circumstances,
  summary: 'a scenario',
  tables: [tableRecord({ title: 'T', columns: ['what', 'n'], rows: [['it', measure(figure)]] })],
  plots: [
    {
      kind: 'lines',
      name: plotName,
      title: 'P',
      along: 's',
      panels: [{ unit: 'ms', lines: [{ name: 'l', points: [[0, 1]] }] }],
    } satisfies Plot,
  ],
});
const report = () => readFileSync(join(folder, 'README.md'), 'utf8');

test('a run of one scenario renews its part and leaves the others as they were', () => {
  const order = ['first', 'second'];
  recordResults(folder, order, circumstances, { second: resultOf(1, 'b'), first: resultOf(2, 'a') });
  recordResults(folder, order, circumstances, { second: resultOf(3, 'c') });
  const sections = report().split(/^## /m).slice(1);
  expect(sections.map(section => section.split(':')[0])).toEqual(order);
  expect(sections.map(section => /it \| (\d)/.exec(section)?.[1])).toEqual(['2', '3']);
  expect(readdirSync(folder).sort()).toEqual([
    'README.md',
    'a.svg',
    'c.svg',
    'history.ndjson',
    'latest.json',
  ]);
});

test('the history keeps what every run measured', () => {
  recordResults(folder, ['first', 'second'], circumstances, { first: resultOf(1, 'a') });
  recordResults(folder, ['first', 'second'], circumstances, { second: resultOf(2, 'b') });
  expect(readHistory(join(folder, 'history.ndjson')).map(({ medians }) => medians)).toEqual([
    { first: { T: { it: { n: 1 } } } },
    { second: { T: { it: { n: 2 } } } },
  ]);
});

test('a scenario that is no more disappears from the report', () => {
  recordResults(folder, ['old', 'new'], circumstances, { old: resultOf(1, 'old') });
  recordResults(folder, ['new'], circumstances, { new: resultOf(2, 'new') });
  expect(report()).not.toContain('## old');
  expect(readdirSync(folder)).not.toContain('old.svg');
});
