/**
 * From one generation of tables to another: all there is, by sharing its files; and a stretch of time, replaced by that of
 * a third. Numbers and visitors of a day follow from its quarter hours. Its lists do not, so they are replaced only
 * with the whole of it.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quoted, quotedList } from '../../../engines/clickhouse/text.ts';
import type { TimeSpan } from '../../replay.ts';
import { daysOf, isWholeDay } from '../../span-days.ts';
import { grainMs } from '../../warehouse.ts';
import { type GenerationTable, tableName, viewedTables } from './schema.ts';

const changeMaxMs = 10 * 60_000;
const timed = { clicks: 'at', minutes: 'start', quarters: 'start' } as const;

/** Everything but the ledger's word on what was counted in the stretch. */
export async function takeOver(
  clickHouse: ClickHouse,
  before: number,
  fresh: number,
  span: TimeSpan,
): Promise<void> {
  for (const table of viewedTables) await shareAll(clickHouse, table, before, fresh);
  const within = `kind = 'hour' AND hour >= ${seconds(span.from)} AND hour < ${seconds(span.to)}`;
  await change(
    clickHouse,
    `INSERT INTO ${tableName('ledger', fresh)} (kind, name, hour, position, counted, skipped, duplicates)
      SELECT kind, name, hour, position, if(${within}, 0, counted), skipped, duplicates
      FROM ${tableName('ledger', before)}`,
  );
}

export interface Replacement {
  readonly fresh: number;
  /** Where the stretch comes from. */
  readonly aside: number;
  readonly span: TimeSpan;
  /** Links that stay as they are. */
  readonly except: readonly string[];
}

export async function replaceSpan(
  clickHouse: ClickHouse,
  { fresh, aside, span, except }: Replacement,
): Promise<void> {
  await forgetLinks(clickHouse, aside, except);
  const others = except.length === 0 ? '' : ` AND scope NOT IN ${quotedList(except)}`;
  for (const [table, column] of Object.entries(timed) as [keyof typeof timed, string][]) {
    // Of a link whose counts were deleted the single clicks are all there, on either side.
    const condition = within(column, span) + (table === 'clicks' ? '' : others);
    await change(clickHouse, `DELETE FROM ${tableName(table, fresh)} WHERE ${condition}`);
    await shareAll(clickHouse, table, aside, fresh);
  }
  const [days, whole] = [daysOf(span), daysOf(span).filter(day => isWholeDay(span, day))];
  await change(clickHouse, `DELETE FROM ${tableName('days', fresh)} WHERE ${isIn(days)}`);
  await change(
    clickHouse,
    `INSERT INTO ${tableName('days', fresh)} (scope, day, ranks)
      SELECT scope, toDate(start), groupBitmapMergeState(ranks) FROM ${tableName('quarters', fresh)}
      WHERE ${within('start', { from: days[0]!, to: days.at(-1)! + grainMs.day })} GROUP BY 1, 2`,
  );
  if (whole.length === 0) return;
  await change(clickHouse, `DELETE FROM ${tableName('dimensions', fresh)} WHERE ${isIn(whole)}${others}`);
  await change(
    clickHouse,
    `INSERT INTO ${tableName('dimensions', fresh)} SELECT * FROM ${tableName('dimensions', aside)} WHERE ${isIn(whole)}`,
  );
}

/** Takes out all that was counted of some links. */
export async function forgetLinks(
  clickHouse: ClickHouse,
  generation: number,
  codes: readonly string[],
): Promise<void> {
  if (codes.length === 0) return;
  for (const table of viewedTables) {
    // Single clicks stay and are hidden by the mark.
    if (table === 'clicks') continue;
    await change(
      clickHouse,
      `DELETE FROM ${tableName(table, generation)} WHERE scope IN ${quotedList(codes)}`,
    );
  }
}

/** The files of a table become another's as well; neither is changed by what becomes of the other. */
async function shareAll(
  clickHouse: ClickHouse,
  table: GenerationTable,
  from: number,
  to: number,
): Promise<void> {
  const [source, target] = [tableName(table, from), tableName(table, to)];
  const rows = await clickHouse.rows<{ id: string }>(`
    SELECT DISTINCT partition_id AS id FROM system.parts
    WHERE database = currentDatabase() AND table = ${quoted(source)} AND active ORDER BY id`);
  for (const { id } of rows)
    await change(clickHouse, `ALTER TABLE ${target} ATTACH PARTITION ID ${quoted(id)} FROM ${source}`);
}

const change = (clickHouse: ClickHouse, statement: string): Promise<void> =>
  clickHouse.run(statement, { deadlineMs: changeMaxMs });

const seconds = (at: number): number => Math.floor(at / 1_000);
const within = (column: string, { from, to }: TimeSpan): string =>
  `${column} >= toDateTime(${seconds(from)}, 'UTC') AND ${column} < toDateTime(${seconds(to)}, 'UTC')`;
const isIn = (days: readonly number[]): string =>
  `day IN (${days.map(day => `toDate(${day / grainMs.day})`).join(', ')})`;
