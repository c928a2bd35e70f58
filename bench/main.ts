/**
 * `npm run bench`: what Terse costs, measured beside something known in the same run. It prints tables and keeps
 * the figures of every round as JSON; with `--record` they go into docs/benchmarks as well. Nothing here passes or
 * fails: a time depends on the machine, a ratio less.
 */
import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import packageDocument from '../package.json' with { type: 'json' };
import { allowedCores } from './kit/cores.ts';
import type { Circumstances } from './kit/history.ts';
import { loadRunner } from './kit/load.ts';
import { findNginx } from './kit/nginx.ts';
import { type BenchOptions, parseOptions, scaledDown } from './kit/options.ts';
import { pacedRunner } from './kit/paced-load.ts';
import { recordResults } from './kit/record.ts';
import type { ScenarioRecord } from './kit/report.ts';
import { createBench, type Scenario } from './kit/scenario.ts';
import { renderTable, tableRecord } from './kit/table.ts';
import { findWrk } from './kit/wrk.ts';
import { blocklist } from './scenarios/blocklist.ts';
import { clickhouse } from './scenarios/clickhouse.ts';
import { clicks } from './scenarios/clicks.ts';
import { cold } from './scenarios/cold.ts';
import { connections } from './scenarios/connections.ts';
import { create } from './scenarios/create.ts';
import { edge } from './scenarios/edge.ts';
import { engines } from './scenarios/engines.ts';
import { freshness } from './scenarios/freshness.ts';
import { hitRatio } from './scenarios/hit-ratio.ts';
import { kill } from './scenarios/kill.ts';
import { latency } from './scenarios/latency.ts';
import { missing } from './scenarios/missing.ts';
import { mixed } from './scenarios/mixed.ts';
import { overload } from './scenarios/overload.ts';
import { permutation } from './scenarios/permutation.ts';
import { pipeline } from './scenarios/pipeline.ts';
import { restart } from './scenarios/restart.ts';
import { scrape } from './scenarios/scrape.ts';
import { sizes } from './scenarios/sizes.ts';
import { soak } from './scenarios/soak.ts';
import { start } from './scenarios/start.ts';
import { warehouse } from './scenarios/warehouse.ts';
import { warm } from './scenarios/warm.ts';
import { workers } from './scenarios/workers.ts';

const scenarios: readonly Scenario[] = [
  warm,
  cold,
  missing,
  create,
  mixed,
  workers,
  scrape,
  engines,
  latency,
  overload,
  connections,
  restart,
  soak,
  start,
  clicks,
  freshness,
  kill,
  edge,
  warehouse,
  clickhouse,
  pipeline,
  blocklist,
  hitRatio,
  permutation,
  sizes,
];

const cacheFolder = join(import.meta.dir, '../.cache/bench');
const documentFolder = join(import.meta.dir, '../docs/benchmarks');

/** Processes that wanted to run during the last minute; a quiet machine has next to none. */
const busyLoad = 0.5;

async function main(options: BenchOptions): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const [wrk, nginxProgram] = [await findWrk(cacheFolder), await findNginx(cacheFolder)];
  const cores = allowedCores();
  const bench = createBench(options, {
    load: loadRunner(wrk, cacheFolder),
    paced: pacedRunner(cacheFolder),
    cacheFolder,
    note,
    interrupted: interruption(),
    cores,
    nginxProgram,
  });
  const circumstances: Circumstances = {
    at: new Date().toISOString(),
    version: packageDocument.version,
    machine: `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${process.platform}`,
    runtime: `Bun ${Bun.version}`,
    client: wrk === undefined ? 'our own client' : 'wrk',
    scaledDown: scaledDown(options),
  };
  const { machine, runtime, client } = circumstances;
  print(`Terse bench: ${machine}, ${runtime}, load by ${client}\n`);
  if (circumstances.scaledDown.length > 0) {
    print(`Scaled down: ${circumstances.scaledDown.join('; ')} (--full for the real sizes)\n`);
  }
  if (nginxProgram === undefined) print('nginx cannot be had here: there is nothing to compare with\n');
  if (loadavg()[0]! > busyLoad)
    print(`The machine is busy (load ${loadavg()[0]!.toFixed(1)}): figures will scatter\n`);
  if (bench.coresFor(1).areShared) print('Server and load share their cores here\n');

  const isChosen = ({ name, isOnRequest = false }: Scenario): boolean =>
    options.scenarios.length === 0 ? !isOnRequest : options.scenarios.includes(name);
  const left = scenarios.filter(({ isOnRequest = false }) => isOnRequest).map(({ name }) => name);
  if (options.scenarios.length === 0) print(`Left out unless named: ${left.join(', ')}\n`);
  const results: Record<string, ScenarioRecord> = {};
  for (const { name, summary, run } of scenarios.filter(isChosen)) {
    if (bench.interrupted.aborted) break;
    print(`\n== ${name}: ${summary}\n`);
    const startedMs = performance.now();
    try {
      const { tables, plots = [] } = await run(bench);
      for (const table of tables) print(`\n${renderTable(table)}`);
      results[name] = { ...circumstances, summary, tables: tables.map(tableRecord), plots };
    } catch (error) {
      // The figures of the others are worth no less.
      complain(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    note(`${name} took ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  }
  await keep(circumstances, results);
  if (options.record) {
    const order = scenarios.map(({ name }) => name);
    recordResults(documentFolder, order, circumstances, results);
    note('recorded in docs/benchmarks');
  }
}

/** The first signal ends what runs and keeps what was measured; a second one ends everything. */
function interruption(): AbortSignal {
  const controller = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => controller.abort());
  return controller.signal;
}

async function keep(circumstances: Circumstances, results: Readonly<Record<string, ScenarioRecord>>) {
  const path = join(cacheFolder, `results-${circumstances.at.replaceAll(':', '-')}.json`);
  await Bun.write(path, `${JSON.stringify({ ...circumstances, scenarios: results }, null, 1)}\n`);
  note(`figures in ${path}`);
}

function complain(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
  process.exitCode = 1;
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
  complain(error instanceof Error ? error.message : String(error));
}
