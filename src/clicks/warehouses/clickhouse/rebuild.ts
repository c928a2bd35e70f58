/**
 * Counts anew into tables of their own, which are put in the place of the others when they are complete. Whoever asks
 * meanwhile gets the old numbers, and a failure leaves them as they were. What is counted into the old tables while this
 * goes on is not in the new ones, and neither is its place in the stream: it is counted from there again.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import type { StreamBatch } from '../../stream.ts';
import type { ApplyResult, RebuildPlan } from '../../warehouse.ts';
import type { Counter } from './count.ts';
import { DeletionsSince, serverTime } from './deletions.ts';
import type { Generations } from './generations.ts';
import { keepUnread, producersIn } from './rebuilt-producers.ts';
import { keepClicks } from './retention.ts';
import { tableName, viewedTables } from './schema.ts';

const copyMaxMs = 60 * 60_000;
/** The column that tells when a row of a table happened. */
const timeColumns = {
  clicks: 'at',
  minutes: 'start',
  quarters: 'start',
  days: 'day',
  dimensions: 'day',
} as const;

export interface RebuildTools {
  readonly clickHouse: ClickHouse;
  readonly generations: Generations;
  readonly counter: Counter;
  readonly clickDays: number;
}

export async function rebuild(
  { clickHouse, generations, counter, clickDays }: RebuildTools,
  plan: RebuildPlan,
  batches: AsyncIterable<readonly StreamBatch[]>,
): Promise<ApplyResult> {
  await generations.ready();
  await generations.dropAbandoned();
  const before = await generations.refreshed();
  const begunAt = await serverTime(clickHouse);
  const fresh = await generations.make();
  const deletions = new DeletionsSince(clickHouse, fresh, begunAt);
  let [clicks, duplicates] = [0, 0];
  /** Nobody knows whether the new generation is in force, so it must not be dropped. */
  let isInDoubt = false;
  try {
    await keepClicks(clickHouse, fresh, clickDays);
    const known = await producersIn(clickHouse, before);
    await copyOlder(clickHouse, before, fresh, plan.countFrom);
    for await (const chunk of batches) {
      await deletions.repeat();
      const result = await counter.applyTo(fresh, chunk, plan.countFrom);
      clicks += result.clicks;
      duplicates += result.duplicates;
    }
    await keepUnread(clickHouse, fresh, known, plan);
    await deletions.repeat();
    isInDoubt = true;
    await generations.putInForce(fresh);
    // Of what was deleted a moment ago the rows were removed from the old tables.
    await deletions.repeat();
  } catch (error) {
    if (!isInDoubt) await generations.drop(fresh).catch(() => undefined);
    throw error;
  }
  // If it cannot be dropped now, the next rebuild does it.
  await generations.drop(before).catch(() => undefined);
  return { clicks, duplicates };
}

/** What is older than all that is counted anew. */
async function copyOlder(clickHouse: ClickHouse, from: number, to: number, countFrom: number): Promise<void> {
  if (countFrom === 0) return;
  const seconds = Math.floor(countFrom / 1_000);
  const copy = (statement: string): Promise<void> => clickHouse.run(statement, { deadlineMs: copyMaxMs });
  for (const table of viewedTables) {
    const column = timeColumns[table];
    await copy(`
      INSERT INTO ${tableName(table, to)} SELECT * FROM ${tableName(table, from)}
      WHERE ${column} < ${column === 'day' ? `toDate(toDateTime(${seconds}, 'UTC'))` : `toDateTime(${seconds}, 'UTC')`}`);
  }
  await copy(`
    INSERT INTO ${tableName('ledger', to)} SELECT * FROM ${tableName('ledger', from)}
    WHERE kind = 'hour' AND hour < ${seconds}`);
}
