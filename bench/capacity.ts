/**
 * `npm run capacity`: how many machines, servers and disks so much traffic takes, from what one of everything was measured
 * to cost. Arithmetic only: it starts nothing and measures nothing. See docs/scaling.md.
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseCapacityOptions } from './capacity/assumptions.ts';
import { capacityReport, figuresTable, reportTables, reportWords } from './capacity/report.ts';
import { figureNames, knownFigures } from './capacity/unit-figures.ts';
import { mediansOf } from './kit/history.ts';
import type { Latest } from './kit/report.ts';
import { renderTable } from './kit/table.ts';

const latestPath = join(import.meta.dir, '../docs/benchmarks/latest.json');

function main(words: readonly string[]): string {
  const { assumptions, given, isJson, showsFigures } = parseCapacityOptions(words, figureNames);
  const latest: Latest = existsSync(latestPath) ? JSON.parse(readFileSync(latestPath, 'utf8')) : {};
  const tables = Object.fromEntries(Object.entries(latest).map(([name, record]) => [name, record.tables]));
  const figures = knownFigures(mediansOf(tables), given);
  const report = capacityReport(assumptions, figures);
  if (isJson) return `${JSON.stringify(report, null, 1)}\n`;
  const shown = showsFigures ? [...reportTables(report), figuresTable(figures)] : reportTables(report);
  return `${shown.map(renderTable).join('\n')}\n${reportWords(report)}`;
}

try {
  process.stdout.write(main(process.argv.slice(2)));
} catch (error) {
  process.stderr.write(`capacity: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
