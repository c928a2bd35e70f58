import { describe, expect, test } from 'bun:test';
import { join } from 'node:path';
import { renderTable } from '../kit/table.ts';
import { defaultAssumptions } from './assumptions.ts';
import { capacityReport, figuresTable, reportTables, reportWords } from './report.ts';
import { figureNames, knownFigures } from './unit-figures.ts';

const figures = knownFigures(new Map());
const report = capacityReport(defaultAssumptions, figures);

describe('the report', () => {
  test('has a row for every part, with a number of units', () => {
    const text = reportTables(report).map(renderTable).join('\n');
    for (const name of [
      'redirects',
      'API',
      'counting',
      'shared cache',
      'link store',
      'stream',
      'statistics',
    ]) {
      expect(text).toMatch(new RegExp(`^${name} +[0-9]`, 'm'));
    }
    expect(text).not.toMatch(/NaN|undefined|Infinity/);
  });

  test('names what gives out first', () => {
    expect(reportWords(report)).toMatch(
      /First bottleneck that more units do not lift: .+% of what may be used/,
    );
    expect(report.limits.map(({ share }) => share)).toEqual(
      report.limits.map(({ share }) => share).toSorted((one, other) => other - one),
    );
  });

  test('does not call a setting a bottleneck unless it already requires too much', () => {
    const small = {
      ...defaultAssumptions,
      redirectsPerDay: 1e6,
      linksPerDay: 1e4,
      workingSet: 1e4,
      linksKept: 1e6,
    };
    expect(reportWords(capacityReport(small, figures))).not.toContain('memory of a machine');
    const fat = { ...small, l1Entries: 10e6 };
    expect(reportWords(capacityReport(fat, figures))).toContain('memory of a machine');
  });

  test('warns of a queue that can only grow', () => {
    const text = (drainPerS: number): string =>
      reportTables(capacityReport({ ...defaultAssumptions, writes: 'queued', drainPerS }, figures))
        .map(renderTable)
        .join('\n');
    expect(text(200)).toContain('More than 1,000,000 may not wait');
    expect(text(2_000)).not.toContain('may not wait');
    expect(text(200)).toContain('grows without end');
    expect(text(2_000)).not.toContain('grows without end');
  });

  test('lists every figure with its source', () => {
    expect(figuresTable(figures).rows.map(row => row[0])).toEqual([...figureNames]);
  });
});

describe('npm run capacity', () => {
  const run = (...words: string[]) =>
    Bun.spawnSync([process.execPath, join(import.meta.dir, '../capacity.ts'), ...words]);

  test('prints one object for programs', () => {
    const { stdout, exitCode } = run('--json', '--redirects-per-day=1b');
    const { assumptions, hours, fleet } = JSON.parse(stdout.toString());
    expect(exitCode).toBe(0);
    expect(assumptions.redirectsPerDay).toBe(1e9);
    expect(hours).toHaveLength(168);
    expect(fleet.parts[0]).toMatchObject({ part: { name: 'redirects' }, units: expect.any(Number) });
  });

  test('says what it does not understand and how it is used', () => {
    const { stderr, exitCode } = run('--speed=9');
    expect(exitCode).toBe(1);
    expect(stderr.toString()).toMatch(/"--speed=9" is not known\nnpm run capacity/);
  });
});
