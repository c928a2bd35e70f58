/**
 * How far producers were counted, through a rebuild. While it counts, the new tables know no number but those of the
 * batches that it reads: one that somebody counted into the old tables meanwhile would make it take clicks for repeated
 * ones. Those of whom there was nothing to read keep the number that they had when it began, and not a later one, since
 * what was counted since then is counted again.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import type { CountedProducer, RebuildPlan } from '../../warehouse.ts';
import { tableName } from './schema.ts';

const readMaxMs = 60_000;

export function producersIn(clickHouse: ClickHouse, generation: number): Promise<CountedProducer[]> {
  return clickHouse.rows<CountedProducer>(
    `SELECT name AS producer, max(position) AS sequence FROM ${tableName('ledger', generation)}
    WHERE kind = 'producer' GROUP BY producer`,
    { deadlineMs: readMaxMs },
  );
}

/** `known` are those of the old tables, from before anything was read. */
export async function keepUnread(
  clickHouse: ClickHouse,
  generation: number,
  known: readonly CountedProducer[],
  { countFrom, producers }: RebuildPlan,
): Promise<void> {
  const read = new Set((await producersIn(clickHouse, generation)).map(({ producer }) => producer));
  // Where nothing older stays, there is nothing of them that a number could stand for.
  const gone = new Set(countFrom > 0 ? [] : producers);
  const kept = known.filter(({ producer }) => !read.has(producer) && !gone.has(producer));
  if (kept.length === 0) return;
  const lines = kept.map(({ producer, sequence }) =>
    JSON.stringify({ kind: 'producer', name: producer, position: sequence }),
  );
  await clickHouse.insert({
    table: tableName('ledger', generation),
    format: 'JSONEachRow',
    body: lines.join('\n'),
  });
}
