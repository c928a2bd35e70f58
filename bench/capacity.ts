/**
 * `npm run capacity`: how many machines, servers and disks a given traffic needs, from measured costs per unit.
 * Arithmetic only: it starts nothing and measures nothing. See docs/scaling.md.
 */
import { parseCapacityOptions } from './capacity/assumptions.ts';
import { capacityReport, figuresTable, reportTables, reportWords } from './capacity/report.ts';
import { figureNames, knownFigures } from './capacity/unit-figures.ts';
import { renderTable } from './kit/table.ts';

function main(words: readonly string[]): string {
  const { assumptions, given, isJson, showsFigures } = parseCapacityOptions(words, figureNames);
  const figures = knownFigures(given);
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
