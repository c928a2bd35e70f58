/**
 * `npm run bench`: what Terse costs, measured beside something known in the same run. It prints tables and keeps
 * the figures of every round as JSON. Nothing here passes or fails: a time depends on the machine, a ratio less.
 */
import { mkdirSync } from 'node:fs';
import { cpus, release } from 'node:os';
import { join } from 'node:path';
import { loadRunner } from './kit/load.ts';
import { type BenchOptions, parseOptions } from './kit/options.ts';
import { createBench, type Scenario } from './kit/scenario.ts';
import { renderTable, type Table, tableRecord } from './kit/table.ts';
import { findWrk } from './kit/wrk.ts';
import { clicks } from './scenarios/clicks.ts';
import { cold } from './scenarios/cold.ts';
import { create } from './scenarios/create.ts';
import { freshness } from './scenarios/freshness.ts';
import { hitRatio } from './scenarios/hit-ratio.ts';
import { permutation } from './scenarios/permutation.ts';
import { start } from './scenarios/start.ts';
import { warehouse } from './scenarios/warehouse.ts';
import { warm } from './scenarios/warm.ts';

const scenarios: readonly Scenario[] = [
  hitRatio,
  permutation,
  create,
  cold,
  warm,
  clicks,
  freshness,
  warehouse,
  start,
];

const cacheFolder = join(import.meta.dir, '../.cache/bench');

async function main(options: BenchOptions): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const wrk = await findWrk(cacheFolder);
  const bench = createBench(options, { load: loadRunner(wrk, cacheFolder), cacheFolder, note });
  const machine = `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${process.platform} ${release()}`;
  const client = wrk === undefined ? 'own client' : 'wrk';
  print(`Terse bench: ${machine}, Bun ${Bun.version}, load by ${client}\n`);

  const chosen = scenarios.filter(
    ({ name }) => options.scenarios.length === 0 || options.scenarios.includes(name),
  );
  const results: Record<string, Table[]> = {};
  for (const { name, summary, run } of chosen) {
    print(`\n== ${name}: ${summary}\n`);
    const startedMs = performance.now();
    results[name] = await run(bench);
    for (const table of results[name]) print(`\n${renderTable(table)}`);
    note(`${name} took ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  }
  note(`figures in ${await keep({ machine, client, options }, results)}`);
}

async function keep(circumstances: object, results: Readonly<Record<string, Table[]>>): Promise<string> {
  const at = new Date().toISOString();
  const path = join(cacheFolder, `results-${at.replaceAll(':', '-')}.json`);
  const scenarioRecords = Object.entries(results).map(([name, tables]) => [name, tables.map(tableRecord)]);
  const record = { at, bun: Bun.version, ...circumstances, scenarios: Object.fromEntries(scenarioRecords) };
  await Bun.write(path, `${JSON.stringify(record, null, 2)}\n`);
  return path;
}

function print(text: string): void {
  process.stdout.write(text);
}

/** Beside the tables, so that these can be piped somewhere. */
function note(text: string): void {
  process.stderr.write(`   ${text}\n`);
}

try {
  const names = scenarios.map(({ name }) => name);
  await main(parseOptions(process.argv.slice(2), names));
} catch (error) {
  process.stderr.write(`bench: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
