/** Puts the results of a run into a folder of documents: the last figures, the history, the report, its plots. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { appendHistory, type Circumstances, mediansOf, readHistory } from './history.ts';
import { drawPlot } from './plot.ts';
import { type Latest, plotsOf, renderReport, type ScenarioRecord } from './report.ts';

/** `order` is that of the report; scenarios that are no more are left out. */
export function recordResults(
  folder: string,
  order: readonly string[],
  circumstances: Circumstances,
  results: Latest,
): void {
  mkdirSync(folder, { recursive: true });
  const latestPath = join(folder, 'latest.json');
  const before: Latest = existsSync(latestPath) ? JSON.parse(readFileSync(latestPath, 'utf8')) : {};
  const known: Record<string, ScenarioRecord> = { ...before, ...results };
  const latest = Object.fromEntries(
    order.filter(name => known[name] !== undefined).map(name => [name, known[name]!]),
  );
  const tables = Object.fromEntries(Object.entries(results).map(([name, record]) => [name, record.tables]));
  const historyPath = join(folder, 'history.ndjson');
  appendHistory(historyPath, { ...circumstances, medians: mediansOf(tables) });
  const history = readHistory(historyPath);
  writeFileSync(latestPath, `${JSON.stringify(latest, null, 1)}\n`);
  writeFileSync(join(folder, 'README.md'), renderReport(latest, history));
  for (const name of readdirSync(folder)) if (name.endsWith('.svg')) rmSync(join(folder, name));
  for (const plot of plotsOf(latest, history)) {
    writeFileSync(join(folder, `${plot.name}.svg`), drawPlot(plot));
  }
}
