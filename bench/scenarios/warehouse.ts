/**
 * The warehouse under more clicks than a server sees in a month: written the way clicks are written, batch by
 * batch through the pipeline into log and counts, then asked what owners ask.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ManualClock } from '../../src/base/clock.ts';
import { BacklogWriter, ClickBacklog } from '../../src/clicks/backlog.ts';
import { type ClickBatch, clickCount, type LinkEntry } from '../../src/clicks/click.ts';
import { headPath, ProducerHeadFile } from '../../src/clicks/log-folder.ts';
import { createEmbeddedLog } from '../../src/clicks/logs/embedded.ts';
import { ClickPipeline } from '../../src/clicks/pipeline.ts';
import type { RawBatch } from '../../src/clicks/recorder.ts';
import { SpillFolder } from '../../src/clicks/spill-folder.ts';
import { readStats, type StatsQuery } from '../../src/clicks/stats.ts';
import { grainMs, type Warehouse } from '../../src/clicks/warehouse.ts';
import { openSqliteWarehouse } from '../../src/clicks/warehouses/sqlite/warehouse.ts';
import { batchClicks, generatedBatches, type Traffic, VisitorTruth } from '../kit/generated-clicks.ts';
import { Histogram } from '../kit/histogram.ts';
import { formatCount, measure } from '../kit/measure.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Cell, Table } from '../kit/table.ts';

export const days = 30;
const minuteDays = 14;
export const end = Date.UTC(2026, 5, 30, 18);
export const start = end - days * grainMs.day;
export const hotLink = 'hotlink';
const ownerId = 'acc_bench';
export const clicksPerLink = 2;
const linksMax = 1_000_000;
const linksPerOwner = 1_000;
const visitorsPerDayMax = 2_000_000;
const questions = 300;
const notesEvery = 5_000_000;
const dropMinutesRows = 2_000;

interface Written {
  readonly clicks: number;
  readonly storeMs: number;
  readonly countMs: number;
  readonly cpuMs: number;
  readonly logBytes: number;
  readonly warehouseBytes: number;
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
        // What comes out of enriching goes in: that step is measured where redirects are.
        enrich: raw => raw as unknown as ClickBatch,
      });
      let sequence = 1;

      async function write(traffic: Traffic, truth: VisitorTruth): Promise<Written> {
        const before = bytesIn(paths);
        let [storeMs, countMs, cpuUs, clicks] = [0, 0, 0, 0];
        for (const batch of generatedBatches(traffic, sequence, truth)) {
          clock.set(batch.at.at(-1)!);
          head.note(batch.firstSequence + clickCount(batch) - 1, clock.now());
          head.beat(clock.now());
          const cpuBefore = process.cpuUsage();
          const startedMs = performance.now();
          await pipeline.accept(batch as unknown as RawBatch);
          const storedMs = performance.now();
          while (await pipeline.count());
          countMs += performance.now() - storedMs;
          storeMs += storedMs - startedMs;
          const cpu = process.cpuUsage(cpuBefore);
          cpuUs += cpu.user + cpu.system;
          clicks += clickCount(batch);
          if (Math.floor(clicks / notesEvery) > Math.floor((clicks - clickCount(batch)) / notesEvery)) {
            note(`${formatCount(clicks)} clicks, ${formatCount(clicks / ((storeMs + countMs) / 1_000))}/s`);
          }
        }
        sequence += clicks;
        const after = bytesIn(paths);
        return {
          clicks,
          storeMs,
          countMs,
          cpuMs: cpuUs / 1_000,
          logBytes: after.log - before.log,
          warehouseBytes: after.warehouse - before.warehouse,
        };
      }

      const links = Math.min(linksMax, Math.ceil(options.clicks / 20));
      const visitorsPerDay = Math.min(visitorsPerDayMax, Math.ceil(options.clicks / days / 2));
      const truth = new VisitorTruth(visitorsPerDay);
      note(`${formatCount(options.clicks)} clicks on one link`);
      const hot = await write({ ...month, clicks: options.clicks, visitorsPerDay, ...oneLink }, truth);
      note(`${formatCount(links)} links with ${clicksPerLink} clicks each`);
      const spread = await write(
        { ...lastDay, clicks: links * clicksPerLink, visitorsPerDay, linkCount: links, linkAt: manyLinks },
        new VisitorTruth(visitorsPerDay),
      );
      note('asking');
      const fresh = await answers(open, anyOf(links));
      const uniques = await open.uniques([{ kind: 'link', code: hotLink }], start, end);
      const dropMinutess = new Histogram();
      let dropped = 0;
      for (;;) {
        const startedMs = performance.now();
        const rows = await open.dropMinutes(end - minuteDays * grainMs.day, dropMinutesRows);
        if (rows === 0) break;
        dropMinutess.record((performance.now() - startedMs) * 1_000);
        dropped += rows;
      }
      note(`${formatCount(dropped)} minutes dropped`);
      const rolled = await answers(open, anyOf(links));
      await pipeline.close();
      await open.close();
      return {
        tables: [
          writingTable(options.clicks, links, hot, spread),
          answersTable(options.clicks, { 'minutes kept': fresh, 'older minutes dropped': rolled }),
          {
            title: 'Visitors, and dropping minutes',
            columns: ['what', 'figure', 'unit'],
            rows: [
              ['different visitors of the one link, true', measure(truth.distinct), 'visitors'],
              ['  as counted', measure(uniques), 'visitors'],
              ['  error', measure((uniques / truth.distinct - 1) * 100, 2), '%'],
              [
                `${formatCount(dropped)} minutes dropped, a round`,
                measure(dropMinutess.quantileUs(0.5) / 1_000, 1),
                'ms',
              ],
            ],
          },
        ],
      };
    }),
};

const month = { from: start, to: end };
const lastDay = { from: end - grainMs.day, to: end };
export const oneLink = {
  linkCount: 1,
  linkAt: (): LinkEntry => ({ code: hotLink, ownerId, tags: [] }),
};
export const manyLinks = (index: number): LinkEntry => ({
  code: `link${index}`,
  ownerId: `acc_${Math.floor(index / linksPerOwner)}`,
  tags: [],
});

/** Another one of `manyLinks` at each turn. */
export const anyOf =
  (links: number) =>
  (turn: number): string =>
    manyLinks((turn * 7_919) % links).code;

/** Latencies of what owners ask, in microseconds. */
export async function answers(
  open: Warehouse,
  anyLink: (turn: number) => string,
): Promise<Record<string, Histogram>> {
  const midnight = Math.floor(end / grainMs.day) * grainMs.day + grainMs.day;
  const common = { timeZone: 'UTC', now: end } as const;
  const link = (code: string) => ({ scopes: [{ kind: 'link', code }] }) as const;
  const month: Omit<StatsQuery, 'scopes'> = {
    ...common,
    from: midnight - days * grainMs.day,
    to: midnight,
    interval: 'day',
  };
  const asked: Record<string, (turn: number) => StatsQuery> = {
    'one link, 30 days by day': () => ({ ...month, ...link(hotLink) }),
    'one link, 30 days by day in Berlin': () => ({
      ...month,
      ...link(hotLink),
      from: month.from - 2 * grainMs.quarter * 4,
      to: month.to - 2 * grainMs.quarter * 4,
      timeZone: 'Europe/Berlin',
    }),
    'one link, 24 hours by minute': () => ({
      ...common,
      ...link(hotLink),
      from: end - grainMs.day,
      to: end,
      interval: 'minute',
    }),
    'one account, 30 days by day': () => ({ ...month, scopes: [{ kind: 'owner', ownerId }] }),
    'any of the many links, 30 days by day': turn => ({
      ...month,
      ...link(anyLink(turn)),
    }),
  };
  const histograms: Record<string, Histogram> = {};
  for (const [name, queryOf] of Object.entries(asked)) {
    const histogram = new Histogram();
    for (let turn = 0; turn < questions; turn += 1) {
      const startedMs = performance.now();
      await readStats(open, queryOf(turn));
      histogram.record((performance.now() - startedMs) * 1_000);
    }
    histograms[name] = histogram;
  }
  return histograms;
}

function writingTable(clicks: number, links: number, hot: Written, spread: Written): Table {
  const row = (what: string, written: Written): Cell[] => [
    what,
    measure(written.clicks / ((written.storeMs + written.countMs) / 1_000)),
    measure((written.storeMs * 1_000) / written.clicks, 2),
    measure((written.countMs * 1_000) / written.clicks, 2),
    measure((written.cpuMs * 1_000) / written.clicks, 2),
    measure(written.logBytes / written.clicks, 1),
    measure(written.warehouseBytes / written.clicks, 1),
  ];
  return {
    title: `Clicks written in batches of ${formatCount(batchClicks)}, each counted by itself`,
    columns: [
      'traffic',
      'clicks/s',
      'storing µs',
      'counting µs',
      'CPU µs',
      'log bytes/click',
      'warehouse bytes/click',
    ],
    rows: [
      row(`${formatCount(clicks)} on one link over ${days} days`, hot),
      row(`${clicksPerLink} on each of ${formatCount(links)} links in a day`, spread),
    ],
    notes: ['One thread. Enriching is not in here; the scenario “clicks” has it.'],
  };
}

export function answersTable(clicks: number, states: Record<string, Record<string, Histogram>>): Table {
  return {
    title: `Statistics with ${formatCount(clicks)} clicks on one link`,
    columns: ['question', 'warehouse', 'p50 ms', 'p99 ms', 'max ms'],
    rows: Object.entries(states).flatMap(([state, histograms]) =>
      Object.entries(histograms).map(([question, histogram]) => [
        question,
        state,
        measure(histogram.quantileUs(0.5) / 1_000, 2),
        measure(histogram.quantileUs(0.99) / 1_000, 2),
        measure(histogram.maxUs / 1_000, 2),
      ]),
    ),
    notes: [`${questions} questions each, one after the other, with all lists and uniques.`],
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
