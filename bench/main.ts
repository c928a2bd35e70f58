/**
 * `npm run bench`: measures Terse together with a baseline in the same run. It prints tables and keeps the figures of
 * every round as JSON in .cache/bench. Nothing here passes or fails: times depend on the machine, ratios less.
 */
import { mkdirSync } from 'node:fs';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import packageDocument from '../package.json' with { type: 'json' };
import { allowedCores } from './kit/cores.ts';
import { loadRunner } from './kit/load.ts';
import { findNginx } from './kit/nginx.ts';
import { type BenchOptions, parseOptions, scaledDown } from './kit/options.ts';
import { pacedRunner } from './kit/paced-load.ts';
import { createBench, type Scenario } from './kit/scenario.ts';
import { renderTable, type TableRecord, tableRecord } from './kit/table.ts';
import { findWrk } from './kit/wrk.ts';
import { cold } from './scenarios/cold.ts';
import { connections } from './scenarios/connections.ts';
import { create } from './scenarios/create.ts';
import { engines } from './scenarios/engines.ts';
import { latency } from './scenarios/latency.ts';
import { overload } from './scenarios/overload.ts';
import { peersScenario } from './scenarios/peers.ts';
import { pipeline } from './scenarios/pipeline.ts';
import { soak } from './scenarios/soak.ts';
import { warehouse } from './scenarios/warehouse.ts';
import { warm } from './scenarios/warm.ts';
import { workers } from './scenarios/workers.ts';

const scenarios: readonly Scenario[] = [
  warm,
  peersScenario,
  connections,
  cold,
  create,
  workers,
  engines,
  latency,
  overload,
  soak,
  warehouse,
  pipeline,
];

const cacheFolder = join(import.meta.dir, '../.cache/bench');

/** The circumstances of a run; figures of different machines are not comparable. */
interface Circumstances {
  readonly at: string;
  readonly version: string;
  readonly machine: string;
  readonly runtime: string;
  /** The sizes that were scaled down. */
  readonly scaledDown: readonly string[];
}

interface ScenarioRecord extends Circumstances {
  readonly summary: string;
  readonly tables: readonly TableRecord[];
}

/** The load average above which the machine is too busy to measure. */
const busyLoad = 0.5;

async function main(options: BenchOptions): Promise<void> {
  mkdirSync(cacheFolder, { recursive: true });
  const [wrk, nginxProgram] = [await findWrk(cacheFolder), await findNginx(cacheFolder)];
  if (wrk === undefined)
    throw new Error('wrk is unavailable: install it, or run where Debian packages can be had');
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
    scaledDown: scaledDown(options),
  };
  const { machine, runtime } = circumstances;
  print(`Terse bench: ${machine}, ${runtime}\n`);
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
      const { tables } = await run(bench);
      for (const table of tables) print(`\n${renderTable(table)}`);
      results[name] = { ...circumstances, summary, tables: tables.map(tableRecord) };
    } catch (error) {
      // The figures of other scenarios are still valid.
      complain(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
    note(`${name} took ${((performance.now() - startedMs) / 1_000).toFixed(0)} s`);
  }
  await keep(circumstances, results);
}

/** The first signal ends the run and keeps its figures; a second one ends the process. */
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

/** On stderr, so that the tables on stdout can be piped. */
function note(text: string): void {
  process.stderr.write(`   ${text}\n`);
}

try {
  const names = scenarios.map(({ name }) => name);
  await main(parseOptions(process.argv.slice(2), names));
} catch (error) {
  complain(error instanceof Error ? error.message : String(error));
}
