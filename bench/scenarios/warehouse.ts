/**
 * The warehouse with more clicks than a server sees in a month: written like real clicks, batch by batch through the
 * pipeline into log and counts, with maintenance between the batches, then queried like owners do.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { BacklogWriter, ClickBacklog } from '../../src/clicks/backlog.ts';
import { type ClickBatch, clickCount } from '../../src/clicks/click.ts';
import { headPath, ProducerHeadFile } from '../../src/clicks/log-folder.ts';
import { createEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { ClickPipeline } from '../../src/clicks/pipeline.ts';
import type { RawBatch } from '../../src/clicks/recorder.ts';
import { SpillFolder } from '../../src/clicks/spill-folder.ts';
import { grainMs, type Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { batchClicks, generatedBatches, type Traffic, VisitorTruth } from '../kit/generated-clicks.ts';
import { Histogram } from '../kit/histogram.ts';
import { formatCount, measure } from '../kit/measure.ts';
import {
  type AskedLatencies,
  days,
  end,
  hotLink,
  manyLinks,
  oneLink,
  questionsEach,
  start,
} from '../kit/owner-questions.ts';
import { writtenBy } from '../kit/process-usage.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Cell, Table } from '../kit/table.ts';

const rawDays = 90;
const clicksPerLink = 2;
const linksMax = 1_000_000;
const visitorsPerDayMax = 2_000_000;
const notesEvery = 5_000_000;
const rowsPerBite = 16_384;
/** How long a server's round of maintenance may take. */
const maintainMaxMs = 100;
/** While questions are asked, a batch comes as often as a server counts. */
const ingestPauseMs = 400;

interface Written {
  readonly clicks: number;
  readonly storeMs: number;
  readonly countMs: number;
  readonly maintainMs: number;
  readonly cpuMs: number;
  readonly logBytes: number;
  readonly warehouseBytes: number;
  readonly writtenBytes: number;
}

export const warehouse: Scenario = {
  name: 'warehouse',
  summary: 'clicks by the million into log and warehouse, and what owners ask then',
  run: ({ options, inFolder, note }) =>
    inFolder(async folder => {
      const paths = { log: join(folder, 'clicks'), warehouse: join(folder, 'stats.db') };
      const clock = new ManualClock(start);
      const stream = createEmbeddedLog({ folder: paths.log, producer: 'bench', clock });
      const head = new ProducerHeadFile(headPath(paths.log, 'bench'));
      const open = openSqliteWarehouse(paths.warehouse);
      const onProblem = (what: string, error: unknown): never => {
        throw new Error(what, { cause: error });
      };
      const shared = { producer: 'bench', clock, onProblem };
      const spill = new SpillFolder({ ...shared, folder: join(folder, 'spill'), bytesMax: 0 });
      const pipeline = new ClickPipeline({
        ...shared,
        log: stream,
        writer: new BacklogWriter({ ...shared, stream, backlog: new ClickBacklog({ ...shared, spill }) }),
        warehouse: { isCurrent: true, get: () => open, close: () => {} },
        // Without enrichment, which is measured with redirects.
        enrich: raw => raw as unknown as ClickBatch,
      });
      let sequence = 1;

      async function accept(batch: ClickBatch): Promise<{ storeMs: number; countMs: number }> {
        clock.set(batch.at.at(-1)!);
        head.note(batch.firstSequence + clickCount(batch) - 1, clock.now());
        head.beat(clock.now());
        const startedMs = performance.now();
        await pipeline.accept(batch as unknown as RawBatch);
        const storedMs = performance.now();
        while (await pipeline.count());
        sequence += clickCount(batch);
        return { storeMs: storedMs - startedMs, countMs: performance.now() - storedMs };
      }

      async function write(traffic: Traffic, truth: VisitorTruth): Promise<Written> {
        const [before, writtenBefore] = [bytesIn(paths), writtenBy(process.pid)];
        let [storeMs, countMs, maintainMs, cpuUs, clicks] = [0, 0, 0, 0, 0];
        const measured = async (work: () => Promise<void>): Promise<void> => {
          const cpuBefore = process.cpuUsage();
          await work();
          const cpu = process.cpuUsage(cpuBefore);
          cpuUs += cpu.user + cpu.system;
        };
        for (const batch of generatedBatches(traffic, sequence, truth)) {
          await measured(async () => {
            const taken = await accept(batch);
            storeMs += taken.storeMs;
            countMs += taken.countMs;
            maintainMs += await maintain(open, clock.now(), maintainMaxMs);
          });
          clicks += clickCount(batch);
          if (Math.floor(clicks / notesEvery) > Math.floor((clicks - clickCount(batch)) / notesEvery)) {
            const busyMs = storeMs + countMs + maintainMs;
            note(`${formatCount(clicks)} clicks, ${formatCount(clicks / (busyMs / 1_000))}/s`);
          }
        }
        await measured(async () => {
          maintainMs += await maintain(open, clock.now(), Number.POSITIVE_INFINITY);
        });
        const after = bytesIn(paths);
        return {
          clicks,
          storeMs,
          countMs,
          maintainMs,
          cpuMs: cpuUs / 1_000,
          logBytes: after.log - before.log,
          warehouseBytes: after.warehouse - before.warehouse,
          writtenBytes: writtenBy(process.pid) - writtenBefore,
        };
      }

      const links = Math.min(linksMax, Math.ceil(options.clicks / 20));
      const visitorsPerDay = Math.min(visitorsPerDayMax, Math.ceil(options.clicks / days / 2));
      const truth = new VisitorTruth(visitorsPerDay);
      const month = { from: start, to: end };
      const lastDay = { from: end - grainMs.day, to: end };
      note(`${formatCount(options.clicks)} clicks on one link`);
      const hot = await write({ ...month, clicks: options.clicks, visitorsPerDay, ...oneLink }, truth);
      note(`${formatCount(links)} links with ${clicksPerLink} clicks each`);
      const spread = await write(
        { ...lastDay, clicks: links * clicksPerLink, visitorsPerDay, linkCount: links, linkAt: manyLinks },
        new VisitorTruth(visitorsPerDay),
      );
      const { visitors } = await open.answer({
        scopes: [{ kind: 'link', code: hotLink, ownerId: oneLink.linkAt().ownerId }],
        ...month,
        starts: [],
        filters: [],
        breakdowns: [],
      });

      note('asking');
      const ask = (isFiltered: boolean): Promise<AskedLatencies> =>
        askFromAnotherProcess(paths.warehouse, links, isFiltered);
      const idle = await ask(true);
      note('asking while clicks come in');
      let isAsking = true;
      const busy = ask(true).finally(() => {
        isAsking = false;
      });
      const lastHour = { from: end - 60 * grainMs.minute, to: end, clicks: 1e9, visitorsPerDay };
      for (const batch of generatedBatches(
        { ...lastHour, ...oneLink },
        sequence,
        new VisitorTruth(visitorsPerDay),
      )) {
        if (!isAsking) break;
        const startedMs = performance.now();
        await accept(batch);
        await maintain(open, clock.now(), maintainMaxMs);
        await Bun.sleep(Math.max(0, ingestPauseMs - (performance.now() - startedMs)));
      }
      const ingesting = await busy;

      note('ending single clicks');
      const steps = new Histogram();
      await maintain(open, end + rawDays * grainMs.day, Number.POSITIVE_INFINITY, steps);
      const before = bytesIn(paths).warehouse;
      const rolled = await ask(false);
      await pipeline.close();
      await open.close();
      return {
        tables: [
          writingTable(options.clicks, links, hot, spread),
          answersTable(options.clicks, {
            idle,
            [`with ${formatCount((batchClicks * 1_000) / ingestPauseMs)} clicks/s`]: ingesting,
            'single clicks gone': rolled,
          }),
          {
            title: 'Visitors, and the end of single clicks',
            columns: ['what', 'figure', 'unit'],
            rows: [
              ['different visitors of the one link, true', measure(truth.distinct), 'visitors'],
              ['  as counted', measure(visitors), 'visitors'],
              ['  error', measure((visitors / truth.distinct - 1) * 100, 2), '%'],
              ['a step of ending single clicks, p50', measure(steps.quantileUs(0.5) / 1_000, 1), 'ms'],
              ['  p99', measure(steps.quantileUs(0.99) / 1_000, 1), 'ms'],
              ['  steps', measure(steps.count), ''],
              ['the warehouse without single clicks', measure(before / 1e6, 1), 'MB'],
            ],
          },
        ],
      };
    }),
};

/** Returns how long it took. */
async function maintain(open: Warehouse, now: number, maxMs: number, steps?: Histogram): Promise<number> {
  const oldest = Math.floor(now / grainMs.day - rawDays) * grainMs.day;
  const plan = { now, singlesFrom: oldest, minutesFrom: oldest, rowsMax: rowsPerBite };
  const startedMs = performance.now();
  for (let stepMs = startedMs; stepMs - startedMs < maxMs; ) {
    const done = await open.maintain(plan);
    steps?.record((performance.now() - stepMs) * 1_000);
    stepMs = performance.now();
    if (done === 0) break;
  }
  return performance.now() - startedMs;
}

/** From another process, because statistics are read by another thread than the one that counts. */
async function askFromAnotherProcess(
  path: string,
  links: number,
  isFiltered: boolean,
): Promise<AskedLatencies> {
  const script = join(import.meta.dir, '../kit/owner-questions.ts');
  const command = [process.execPath, script, path, String(links), String(isFiltered)];
  const child = Bun.spawn(command, { stdout: 'pipe', stderr: 'inherit', stdin: 'ignore' });
  const printed = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error('the questions could not be asked');
  return JSON.parse(printed) as AskedLatencies;
}

function writingTable(clicks: number, links: number, hot: Written, spread: Written): Table {
  const row = (what: string, written: Written): Cell[] => {
    const perClick = (amount: number, digits = 2) => measure(amount / written.clicks, digits);
    const { storeMs, countMs, maintainMs, cpuMs } = written;
    return [
      what,
      measure(written.clicks / ((storeMs + countMs + maintainMs) / 1_000)),
      perClick(storeMs * 1_000),
      perClick(countMs * 1_000),
      perClick(maintainMs * 1_000),
      perClick(cpuMs * 1_000),
      perClick(written.logBytes, 1),
      perClick(written.warehouseBytes, 1),
      perClick(written.writtenBytes, 1),
    ];
  };
  return {
    title: `Clicks written in batches of ${formatCount(batchClicks)}, each counted by itself`,
    columns: [
      'traffic',
      'clicks/s',
      'storing µs',
      'counting µs',
      'maintenance µs',
      'CPU µs',
      'log bytes/click',
      'warehouse bytes/click',
      'bytes written/click',
    ],
    rows: [
      row(`${formatCount(clicks)} on one link over ${days} days`, hot),
      row(`${clicksPerLink} on each of ${formatCount(links)} links in a day`, spread),
    ],
    notes: [
      'One thread. Enriching is not in here; the scenario “clicks” has it.',
      'Bytes written are those of all files together, as often as they were written.',
    ],
  };
}

function answersTable(clicks: number, states: Readonly<Record<string, AskedLatencies>>): Table {
  return {
    title: `Statistics with ${formatCount(clicks)} clicks on one link`,
    columns: ['question', 'warehouse', 'p50 ms', 'p99 ms', 'max ms'],
    rows: Object.entries(states).flatMap(([state, asked]) =>
      Object.entries(asked).map(([question, { p50Ms, p99Ms, maxMs }]) => [
        question,
        state,
        measure(p50Ms, 2),
        measure(p99Ms, 2),
        measure(maxMs, 2),
      ]),
    ),
    notes: [`${questionsEach} questions each, one after the other, with all lists and visitors.`],
  };
}

function bytesIn(paths: { log: string; warehouse: string }): { log: number; warehouse: number } {
  const sizeOf = (path: string): number => statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const logs = readdirSync(paths.log, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.log'),
  );
  return {
    log: logs.reduce((sum, name) => sum + sizeOf(join(paths.log, name)), 0),
    warehouse: sizeOf(paths.warehouse) + sizeOf(`${paths.warehouse}-wal`),
  };
}
