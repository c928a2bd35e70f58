/**
 * The warehouse in ClickHouse under the clicks of a month: inserted in blocks as the consumer of a stream inserts them,
 * then asked what owners ask. The engine is ClickHouse's own, behind the test kit's front unless a server is on PATH.
 */
import { systemClock } from '../../src/base/clock.ts';
import type { LinkEntry } from '../../src/clicks/batch.ts';
import type { StreamBatch } from '../../src/clicks/stream.ts';
import { grainMs } from '../../src/clicks/warehouse.ts';
import {
  type ClickHouseWarehouse,
  createClickHouseWarehouse,
} from '../../src/clicks/warehouses/clickhouse/warehouse.ts';
import type { ClickHouse } from '../../src/engines/clickhouse/clickhouse.ts';
import { type ClickHouseEngine, startClickHouse } from '../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../test/kit/engines/clickhouse-client.ts';
import {
  codeOfCopy,
  copiedClicks,
  copiedLink,
  copiedLinks,
  copiedVisitorsPerDay,
  copyLinks,
} from '../kit/clickhouse-copies.ts';
import { generatedBatches, type Traffic, VisitorTruth } from '../kit/generated-clicks.ts';
import { formatCount, measure } from '../kit/measure.ts';
import { usageOf } from '../kit/process-usage.ts';
import type { Scenario } from '../kit/scenario.ts';
import type { Table } from '../kit/table.ts';
import {
  answers,
  answersTable,
  anyOf,
  clicksPerLink,
  days,
  end,
  hotLink,
  manyLinks,
  oneLink,
  start,
} from './warehouse.ts';

const clickDays = 3_650;
/** A block has just under a hundred thousand clicks. */
const blockBatches = 12;
const visitorsPerDayMax = 2_000_000;
const notesEvery = 5_000_000;
const mergeMaxMs = 3_600_000;
const restS = 5;
const restMaxMs = 900_000;
export const countTables = ['clicks', 'minutes', 'quarters', 'days', 'dimensions', 'ledger'] as const;

interface Inserted {
  readonly what: string;
  readonly clicks: number;
  readonly blocks: number;
  readonly wallMs: number;
  readonly ownCpuMs: number;
  readonly engineCpuMs: number;
  readonly bytes: ReadonlyMap<string, number>;
}

interface World {
  readonly engine: ClickHouseEngine;
  readonly clickHouse: ClickHouse;
  readonly warehouse: ClickHouseWarehouse;
  note(text: string): void;
}

export const clickhouse: Scenario = {
  name: 'clickhouse',
  summary: 'clicks by the million into ClickHouse, and what owners ask then',
  isOnRequest: true,
  async run({ options: { clicks, copied = 0 }, note }) {
    const engine = await startClickHouse();
    try {
      const clickHouse = patientClickHouse(engine.freshDatabaseUrl());
      const warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays });
      await warehouse.ready();
      const world = { engine, clickHouse, warehouse, note };
      const links = Math.ceil(clicks / 20);
      const visitorsPerDay = Math.min(visitorsPerDayMax, Math.ceil(clicks / days / 2));
      const hot = { clicks, from: start, to: end, visitorsPerDay, ...oneLink };
      const lastDay = { from: end - grainMs.day, to: end };
      const spread = {
        ...lastDay,
        clicks: links * clicksPerLink,
        visitorsPerDay,
        linkCount: links,
        linkAt: manyLinks,
      };
      const thin = `${clicksPerLink} on each of ${formatCount(links)} links in a day`;
      const copies = Math.ceil(copied / copiedClicks);
      const inserted = [
        await insert(world, `${formatCount(clicks)} on one link over ${days} days`, hot, 'hot'),
        copies === 0 ? await insert(world, thin, spread, 'spread') : await insertCopies(world, copies),
      ];
      const anyLink =
        copies === 0
          ? anyOf(links)
          : (turn: number): string => codeOfCopy(turn % copiedLinks, (turn * 7) % copies);
      note(`asking about ${hotLink}`);
      const asked = {
        'asked first': await answers(warehouse, anyLink),
        'asked again': await answers(warehouse, anyLink),
      };
      const tables = [insertTable(inserted), bytesTable(inserted), answersTable(clicks, asked)];
      return { tables: [...tables, await totalTable(clickHouse, copies)] };
    } finally {
      await engine.stop();
    }
  },
};

/** Counts the links that are copied, then copies them. */
async function insertCopies(world: World, copies: number): Promise<Inserted> {
  const { clickHouse, note } = world;
  const traffic = {
    clicks: copiedClicks,
    from: start,
    to: end,
    visitorsPerDay: copiedVisitorsPerDay,
    linkCount: copiedLinks,
    linkAt: copiedLink,
  };
  const what = `${formatCount(copiedClicks)} on ${copiedLinks} links over ${days} days`;
  const inserted = await insert(world, what, traffic, 'copied');
  await copyLinks(clickHouse, copies - 1, end, copied => {
    note(`${formatCount(copied * copiedClicks)} clicks copied`);
  });
  note('waiting until the engine has merged what it wants to');
  await untilAtRest(clickHouse);
  return inserted;
}

/** Clicks of a month that come within minutes are merged for a while; those that come within a month are merged by then. */
async function untilAtRest(clickHouse: ClickHouse): Promise<void> {
  const giveUpMs = performance.now() + restMaxMs;
  for (let quietS = 0; quietS < restS && performance.now() < giveUpMs; await Bun.sleep(1_000)) {
    const [{ merges } = { merges: 0 }] = await clickHouse.rows<{ merges: number }>(
      'SELECT count() AS merges FROM system.merges WHERE database = currentDatabase()',
    );
    quietS = merges === 0 ? quietS + 1 : 0;
  }
}

async function insert(
  { engine, clickHouse, warehouse, note }: World,
  what: string,
  traffic: Traffic & { linkAt(index: number): LinkEntry },
  partition: string,
): Promise<Inserted> {
  note(what);
  const bytesBefore = await bytesIn(clickHouse);
  const engineBefore = usageOf(engine.pid!)?.cpuMs ?? Number.NaN;
  let [wallMs, ownCpuUs, position, blocks, clicks] = [0, 0, 0, 0, 0];
  let block: StreamBatch[] = [];
  const flush = async (): Promise<void> => {
    const cpuBefore = process.cpuUsage();
    const startedMs = performance.now();
    const result = await warehouse.apply(block);
    wallMs += performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpuBefore);
    ownCpuUs += user + system;
    blocks += 1;
    block = [];
    if (Math.floor((clicks + result.clicks) / notesEvery) > Math.floor(clicks / notesEvery)) {
      note(`${formatCount(clicks + result.clicks)} clicks, ${formatCount(clicks / (wallMs / 1_000))}/s`);
    }
    clicks += result.clicks;
  };
  for (const batch of generatedBatches(traffic, 1, new VisitorTruth(traffic.visitorsPerDay))) {
    block.push({ partition, from: position, to: ++position, producer: `bench-${partition}/0`, batch });
    if (block.length === blockBatches) await flush();
  }
  if (block.length > 0) await flush();
  const engineCpuMs = (usageOf(engine.pid!)?.cpuMs ?? Number.NaN) - engineBefore;
  await mergeAll(clickHouse);
  const bytesAfter = await bytesIn(clickHouse);
  const bytes = new Map(
    countTables.map(table => [table, bytesAfter.get(table)! - (bytesBefore.get(table) ?? 0)]),
  );
  return { what, clicks, blocks, wallMs, ownCpuMs: ownCpuUs / 1_000, engineCpuMs, bytes };
}

/** What lies on the disk in the end is what merging makes of it. */
export async function mergeAll(clickHouse: ClickHouse): Promise<void> {
  for (const table of countTables)
    await clickHouse.run(`OPTIMIZE TABLE ${table}_0 FINAL`, { deadlineMs: mergeMaxMs });
}

export async function bytesIn(clickHouse: ClickHouse): Promise<Map<string, number>> {
  const rows = await clickHouse.rows<{ name: string; bytes: number }>(`
    SELECT replaceRegexpOne(table, '_0$', '') AS name, sum(bytes_on_disk) AS bytes FROM system.parts
    WHERE active AND database = currentDatabase() GROUP BY name`);
  return new Map(rows.map(({ name, bytes }) => [name, bytes]));
}

function insertTable(all: readonly Inserted[]): Table {
  return {
    title: 'Clicks inserted into ClickHouse, in blocks of just under 100,000',
    columns: ['traffic', 'clicks/s', 'ms per block', 'our CPU µs', 'its CPU µs'],
    rows: all.map(({ what, clicks, blocks, wallMs, ownCpuMs, engineCpuMs }) => [
      what,
      measure(clicks / (wallMs / 1_000)),
      measure(wallMs / blocks),
      measure((ownCpuMs * 1_000) / clicks, 2),
      measure((engineCpuMs * 1_000) / clicks, 2),
    ]),
    notes: ['One block after the other. Its CPU has the merging in it that was done meanwhile.'],
  };
}

function bytesTable(all: readonly Inserted[]): Table {
  const total = (bytes: ReadonlyMap<string, number>): number =>
    [...bytes.values()].reduce((sum, part) => sum + part, 0);
  return {
    title: 'Bytes per click on disk, merged',
    columns: ['traffic', ...countTables, 'together'],
    rows: all.map(({ what, clicks, bytes }) => [
      what,
      ...countTables.map(table => measure(bytes.get(table)! / clicks, 2)),
      measure(total(bytes) / clicks, 1),
    ]),
  };
}

/** What the tables hold in the end, by their own account. */
async function totalTable(clickHouse: ClickHouse, copies: number): Promise<Table> {
  const [total] = await clickHouse.rows<{ clicks: number; links: number }>(
    `SELECT sum(clicks + bots) AS clicks, uniqExact(scope) AS links FROM quarters_0 WHERE NOT startsWith(scope, 'owner:')`,
    { deadlineMs: mergeMaxMs },
  );
  const bytes = [...(await bytesIn(clickHouse)).values()].reduce((sum, part) => sum + part, 0);
  const copied = Math.max(0, copies - 1) * copiedClicks;
  return {
    title: 'In all',
    columns: ['what', 'figure', 'unit'],
    rows: [
      ['clicks in the tables', measure(total!.clicks), 'clicks'],
      ['  of these copied', measure(copied), 'clicks'],
      ['links', measure(total!.links), 'links'],
      ['on disk', measure(bytes / 2 ** 20), 'MiB'],
    ],
  };
}
