/**
 * The warehouse in ClickHouse, shared by any number of processes. There are no transactions: count.ts explains how
 * counts agree with positions all the same, and generations.ts how a recount takes effect at once.
 */
import type { Clock } from '../../../base/clock.ts';
import { type ClickHouse, quoted, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { runMigrations } from '../../../engines/clickhouse/migrations.ts';
import { grainMs, type Warehouse } from '../../warehouse.ts';
import { coverageOf, readAnswer } from './answer.ts';
import { type GenerationTable, scopedTables, tableName } from './columns.ts';
import { Counter } from './count.ts';
import { Generations, Hold } from './generations.ts';
import { createReader, readRecent } from './read.ts';
import { recountAll, recountDays } from './recount.ts';
import { warehouseMigrations } from './schema.ts';
import { exportPart } from './singles.ts';
import { describeGeneration, fillLists, type Generation, keepClicks, upgradeGeneration } from './upgrade.ts';

export interface ClickHouseWarehouse extends Warehouse {
  exportPart: NonNullable<Warehouse['exportPart']>;
  ready(): Promise<void>;
  /** Asks consumers to pause. */
  readonly hold: Hold;
}

export interface WarehouseOptions {
  readonly clickHouse: ClickHouse;
  readonly clock: Clock;
  /** Days that single clicks are kept. */
  readonly clickDays: number;
}

const deleteMaxMs = 60_000;
/** A caller that waits for it should learn soon that the server is down. */
const markMaxMs = 5_000;

/**
 * Tables are created, or changed, before the first of them is used; a caller that wants to know at once that all is
 * well calls `ready`. Safe when several start at once.
 */
export function createClickHouseWarehouse({
  clickHouse,
  clock,
  clickDays,
}: WarehouseOptions): ClickHouseWarehouse {
  const generations = new Generations(clickHouse, clock, async () => {
    await runMigrations(clickHouse, warehouseMigrations);
    const generation = await generations.current();
    await upgradeGeneration(clickHouse, generation, clock.now());
    await keepClicks(clickHouse, generation, clickDays);
    described.clear();
  });
  /** What was found of the generations that were active; asked again after a failure. */
  const described = new Map<number, Promise<Generation>>();
  const use = <Result>(work: (generation: Generation) => Promise<Result>): Promise<Result> =>
    generations.use(async number => {
      const known = described.get(number) ?? describeGeneration(clickHouse, number);
      described.set(number, known);
      known.catch(() => described.delete(number));
      return work(await known);
    });
  /** Since when single clicks are kept. */
  const keptFrom = (): number =>
    Math.floor(clock.now() / grainMs.day) * grainMs.day - (clickDays - 1) * grainMs.day;
  const counter = new Counter(clickHouse, generations);
  const reader = createReader(clickHouse, generations, use);
  const recountTools = { clickHouse, generations, counter, clickDays, positions: reader.positions };
  const deleteFrom = (table: GenerationTable, condition: string): Promise<void> =>
    generations.use(generation =>
      clickHouse.run(`DELETE FROM ${tableName(table, generation)} WHERE ${condition}`, {
        deadlineMs: deleteMaxMs,
      }),
    );

  return {
    ready: () => generations.ready(),
    positions: reader.positions,
    apply: batches => counter.apply(batches),
    answer: question =>
      use(generation => readAnswer({ clickHouse, clock, keptFrom: keptFrom() }, generation, question)),
    recent: question =>
      use(generation => readRecent({ clickHouse, keptFrom: keptFrom() }, generation, question)),
    total: async scope => (await reader.totals([scope]))[0]!,
    totals: reader.totals,
    clicksBy: reader.clicksBy,
    ranking: reader.ranking,
    ledger: reader.ledger,
    ledgerOf: reader.ledgerOf,
    async exportPart(filter, cursor) {
      const forgotten = await reader.forgottenBefore(filter.code);
      return use(async generation => {
        const part = await exportPart(clickHouse, generation, filter, cursor, forgotten);
        if (cursor !== undefined) return part;
        const question = {
          scopes: [{ kind: 'link', code: filter.code, ownerId: filter.ownerId }] as const,
          from: filter.from,
          to: Math.min(filter.to, clock.now()),
        };
        return { ...part, coveredFrom: await coverageOf(clickHouse, generation, question, keptFrom()) };
      });
    },
    producers: reader.producers,
    earliest: reader.earliest,
    forgottenBefore: reader.forgottenBefore,
    hourSums: reader.hourSums,
    /** As long as there are single clicks, which show what was counted of links that were forgotten. */
    comparableSince: async () => keptFrom(),
    recountDays: (replay, pause) => recountDays(recountTools, replay, pause),
    recountAll: (plan, batches) => recountAll(recountTools, plan, batches),
    hold: new Hold(clickHouse, clock),

    async forget(code, at) {
      await generations.ready();
      // First the mark, so that nothing older is counted once the rows are deleted.
      const body = JSON.stringify({ code, at_ms: at });
      await clickHouse.insert({ table: 'forgotten', format: 'JSONEachRow', body, deadlineMs: markMaxMs });
      // Tables that become active later are filled by a process that finds the mark.
      await generations.refreshed();
      for (const table of scopedTables) await deleteFrom(table, `scope = ${quoted(code)}`);
    },
    retire: partitions => deleteFrom('ledger', `kind = 'partition' AND name IN ${quotedList(partitions)}`),

    maintain: ({ minutesFrom }) =>
      use(async ({ number, hasEarlier }) => {
        const dropped = await dropMinutes(clickHouse, number, minutesFrom);
        return dropped > 0 || !hasEarlier ? dropped : fillLists(clickHouse, number);
      }),
    async close() {
      // Nothing is kept open.
    },
  };
}

/** A day's minutes go together and at once, so there is no smaller bite to take. Returns how many rows went. */
async function dropMinutes(clickHouse: ClickHouse, generation: number, before: number): Promise<number> {
  const table = tableName('minutes', generation);
  const firstKept = new Date(Math.floor(before / grainMs.day) * grainMs.day);
  const [oldest] = await clickHouse.rows<{ partition: string; rows: number }>(`
    SELECT partition, sum(rows) AS rows FROM system.parts
    WHERE database = currentDatabase() AND table = '${table}' AND active
      AND partition < '${firstKept.toISOString().slice(0, 10).replaceAll('-', '')}'
    GROUP BY partition ORDER BY partition LIMIT 1`);
  if (oldest === undefined) return 0;
  await clickHouse.run(`ALTER TABLE ${table} DROP PARTITION ${oldest.partition}`);
  return oldest.rows;
}
