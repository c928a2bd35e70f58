/**
 * `npm run compare-answers`: puts the same clicks into the embedded warehouse and ClickHouse, and asks both the same
 * random questions; every number of every answer must be right. A wrong answer is printed with its question, which
 * `--question` repeats.
 *
 *     npm run compare-answers -- [--clicks=5m] [--questions=10k] [--seed=1] [--engines=sqlite,clickhouse]
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { systemClock } from '../../src/base/clock.ts';
import { seededRandom } from '../../src/base/random.ts';
import { type ClickBatch, clickAt } from '../../src/clicks/click.ts';
import { type Mismatch, mismatchOf, Truth } from '../../src/clicks/fake-warehouse-truth.ts';
import type { LogBatch } from '../../src/clicks/log.ts';
import { grainMs, type Question, type Warehouse } from '../../src/clicks/warehouse.ts';
import { createClickHouseWarehouse } from '../../src/clicks/warehouses/clickhouse/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { ColumnTruth } from './column-truth.ts';
import { startClickHouse } from './engines/clickhouse.ts';
import { patientClickHouse } from './engines/clickhouse-client.ts';
import { kindOf, RandomQuestions } from './random-questions.ts';
import { RandomTraffic, trafficLists } from './random-traffic.ts';

interface OpenedEngine {
  readonly name: string;
  readonly warehouse: Warehouse;
  /** How many batches it is given at a time. */
  readonly batchesMax: number;
  readonly latenciesMs: Map<string, number[]>;
  wrong: number;
  /** Answers that report to lack the oldest clicks, which are no longer kept one by one. */
  partial: number;
  applyMs: number;
  maintainMs: number;
  close(): Promise<void>;
}

const days = 40;
/** Single clicks of earlier days roll off while clicks are still added. */
const rawDays = 25;
const end = Date.UTC(2026, 5, 30, 18);
const start = end - days * grainMs.day;
const cut = Math.floor((end - rawDays * grainMs.day) / grainMs.day) * grainMs.day;
const blockBatches = 16;
/** How long a round of maintenance may take, as in a server. */
const maintainMaxMs = 100;
const rowsMax = 16_384;
const clickDays = 20_000;
const wrongShownMax = 3;

async function main(): Promise<number> {
  const { values: given } = parseArgs({
    options: {
      clicks: { type: 'string', default: '5m' },
      questions: { type: 'string', default: '10k' },
      seed: { type: 'string', default: '1' },
      engines: { type: 'string', default: 'sqlite,clickhouse' },
      question: { type: 'string' },
    },
  });
  const [clicks, questionCount, seed] = [countOf(given.clicks), countOf(given.questions), Number(given.seed)];
  const isReplay = given.question !== undefined;
  print(`${clicks} clicks, ${isReplay ? 'one question' : `${questionCount} questions`}, seed ${seed}`);
  checkOracle(seed);

  const startedMs = performance.now();
  const traffic = new RandomTraffic({ clicks, from: start, to: end, seed });
  const truth = new ColumnTruth(clicks, trafficLists);
  const engines: OpenedEngine[] = [];
  try {
    for (const name of given.engines.split(',')) engines.push(await openers[name]!());
    await write(traffic, truth, engines);
    truth.sort();
    const wroteMs = performance.now();
    for (const { name, applyMs, maintainMs } of engines)
      print(`${name}: written in ${seconds(applyMs)} s, maintenance ${seconds(maintainMs)} s`);
    const questions: Iterable<Question> = isReplay
      ? [JSON.parse(given.question!) as Question]
      : questionsOf(traffic, seed, questionCount);
    const kinds = await compare(questions, truth, engines, questionCount);
    printTable(kinds, engines);
    print(
      `asked in ${seconds(performance.now() - wroteMs)} s, ${seconds(performance.now() - startedMs)} s in all`,
    );
  } finally {
    for (const engine of engines) await engine.close();
  }
  const wrong = engines.reduce((sum, engine) => sum + engine.wrong, 0);
  print(wrong === 0 ? 'every number of every answer is right' : `${wrong} answers are wrong`);
  return wrong === 0 ? 0 : 1;
}

/** Checks that the column oracle agrees with the simplest one. */
function checkOracle(seed: number): void {
  const traffic = new RandomTraffic({ clicks: 3_000, from: end - 5 * grainMs.day, to: end, seed });
  const columns = new ColumnTruth(3_000, trafficLists);
  const simple = new Truth();
  for (const batch of traffic.batches()) {
    columns.add(batch);
    simple.addBatch(batch);
  }
  columns.sort();
  for (const question of new RandomQuestions(seededRandom(seed), traffic.world()).take(300))
    if (!Bun.deepEquals(columns.answer(question), simple.answer(question)))
      throw new Error(`the oracles disagree about ${JSON.stringify(question)}`);
}

const openers: Readonly<Record<string, () => Promise<OpenedEngine>>> = {
  async sqlite() {
    const folder = mkdtempSync(join(tmpdir(), 'terse-compare-'));
    const warehouse = openSqliteWarehouse(join(folder, 'stats.db'));
    return engineOf('sqlite', warehouse, 4, async () => {
      await warehouse.close();
      rmSync(folder, { recursive: true, force: true });
    });
  },
  async clickhouse() {
    const engine = await startClickHouse();
    const clickHouse = patientClickHouse(engine.freshDatabaseUrl());
    const warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays });
    return engineOf('clickhouse', warehouse, blockBatches, async () => {
      await warehouse.close();
      await engine.stop();
    });
  },
};

const engineOf = (
  name: string,
  warehouse: Warehouse,
  batchesMax: number,
  close: () => Promise<void>,
): OpenedEngine => ({
  name,
  warehouse,
  batchesMax,
  latenciesMs: new Map(),
  wrong: 0,
  partial: 0,
  applyMs: 0,
  maintainMs: 0,
  close,
});

/** Writes like a server: a block at a time, with some maintenance after a few blocks. */
async function write(
  traffic: RandomTraffic,
  truth: ColumnTruth,
  engines: readonly OpenedEngine[],
): Promise<void> {
  let [position, written] = [0, 0];
  let block: LogBatch[] = [];
  const flush = async (): Promise<void> => {
    if (block.length === 0) return;
    for (const engine of engines)
      for (let first = 0; first < block.length; first += engine.batchesMax)
        await writeTo(engine, block.slice(first, first + engine.batchesMax));
    block = [];
    note(`${written} clicks written`);
  };
  for (const batch of traffic.batches()) {
    truth.add(batch);
    written += batch.at.length;
    block.push(logBatch(batch, position));
    position += 1;
    if (block.length === blockBatches) await flush();
  }
  await flush();
}

async function writeTo(engine: OpenedEngine, batches: readonly LogBatch[]): Promise<void> {
  const now = clickAt(batches.at(-1)!.batch, 0).at;
  const oldest = Math.floor((now - rawDays * grainMs.day) / grainMs.day) * grainMs.day;
  const plan = { now, singlesFrom: oldest, minutesFrom: oldest, rowsMax };
  const startedMs = performance.now();
  await engine.warehouse.apply(batches);
  const appliedMs = performance.now();
  while (performance.now() - appliedMs < maintainMaxMs && (await engine.warehouse.maintain(plan)) > 0);
  engine.applyMs += appliedMs - startedMs;
  engine.maintainMs += performance.now() - appliedMs;
}

async function finishMaintenance(engines: readonly OpenedEngine[]): Promise<void> {
  for (const engine of engines) {
    const startedMs = performance.now();
    const plan = { now: end + grainMs.day, singlesFrom: cut, minutesFrom: cut, rowsMax };
    while ((await engine.warehouse.maintain(plan)) > 0);
    engine.maintainMs += performance.now() - startedMs;
  }
}

const logBatch = (batch: ClickBatch, position: number): LogBatch => ({
  partition: 'clicks/0',
  from: position,
  to: position + 1,
  producer: 'host/0',
  batch,
});

/** Minutes are asked about only as long as they are kept. */
function* questionsOf(traffic: RandomTraffic, seed: number, count: number): Generator<Question> {
  const questions = new RandomQuestions(seededRandom(seed), traffic.world());
  for (let asked = 0; asked < count; asked += 1)
    yield asked % 2 === 0 ? questions.next({ from: cut }) : questions.next({ grain: 'quarter' });
}

/** Returns how many questions of each kind there were. */
async function compare(
  questions: Iterable<Question>,
  truth: ColumnTruth,
  engines: readonly OpenedEngine[],
  count: number,
): Promise<Map<string, number>> {
  const kinds = new Map<string, number>();
  let asked = 0;
  for (const question of questions) {
    // Half of the questions are asked while there is still something to merge.
    if (asked === Math.floor(count / 2)) await finishMaintenance(engines);
    const kind = kindOf(question);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    for (const engine of engines) {
      const startedMs = performance.now();
      const answer = await engine.warehouse.answer(question);
      engine.latenciesMs.getOrInsertComputed(kind, () => []).push(performance.now() - startedMs);
      if (answer.coveredFrom > question.from) engine.partial += 1;
      const mismatch = mismatchOf(truth, question, answer, cut);
      if (mismatch === undefined) continue;
      engine.wrong += 1;
      if (engine.wrong <= wrongShownMax) printMismatch(engine.name, mismatch);
    }
    asked += 1;
    if (asked % 500 === 0) note(`${asked} of ${count} questions`);
  }
  return kinds;
}

function printMismatch(name: string, { question, differences }: Mismatch): void {
  print(`\n${name} is wrong about --question='${question}'`);
  for (const difference of differences) print(`  ${difference}`);
}

function printTable(kinds: ReadonlyMap<string, number>, engines: readonly OpenedEngine[]): void {
  const heads = engines.flatMap(({ name }) => [`${name} p50 ms`, `${name} p99 ms`]);
  const rows = [...kinds]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([kind, count]) => [
      kind,
      String(count),
      ...engines.flatMap(({ latenciesMs }) => quantiles(latenciesMs.get(kind) ?? [])),
    ]);
  const all = engines.flatMap(({ latenciesMs }) => quantiles([...latenciesMs.values()].flat()));
  const sum = [...kinds.values()].reduce((total, count) => total + count, 0);
  const table = [['question', 'asked', ...heads], ...rows, ['all', String(sum), ...all]];
  const widths = table[0]!.map((_, column) => Math.max(...table.map(row => row[column]!.length)));
  for (const row of table)
    print(
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)))
        .join('  '),
    );
  for (const { name, wrong, partial } of engines)
    print(
      `${name}: ${wrong} of ${sum} answers are wrong; ${partial} filtered ones were about the last ${rawDays} days only`,
    );
}

function quantiles(valuesMs: readonly number[]): string[] {
  const sorted = valuesMs.toSorted((a, b) => a - b);
  return [0.5, 0.99].map(share =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(2),
  );
}

function countOf(text: string): number {
  const [, digits, multiple = ''] = /^(\d+)([km]?)$/i.exec(text) ?? [];
  if (digits === undefined) throw new Error(`"${text}" is no number such as 5, 20k or 5m`);
  return Number(digits) * ({ '': 1, k: 1e3, m: 1e6 }[multiple.toLowerCase()] ?? 1);
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);
const print = (text: string): void => void process.stdout.write(`${text}\n`);
let notedAtMs = 0;
function note(text: string): void {
  if (performance.now() - notedAtMs < 5_000) return;
  notedAtMs = performance.now();
  process.stderr.write(`${text}\n`);
}

process.exit(await main());
