/**
 * Tables of a version that kept lists by the day only, and single clicks in the order of their links. They are brought up
 * to this one when a process starts, by statements that can be run again and by several processes at once. Nothing is
 * copied: single clicks counted before stay in a table `earlier`, until their days are over, and are read beside the new
 * ones. Lists by the quarter hour are complete from a while after; what is older has lists of days.
 */
import { type ClickHouse, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { dimensionNames } from '../../dimensions.ts';
import { grainMs } from '../../warehouse.ts';
import {
  dimensionType,
  type GenerationTable,
  packedWord,
  tableName,
  viewName,
  word,
  wordDimensions,
} from './columns.ts';
import { clickOrder, generationStatements } from './schema.ts';
import { changedViewStatements } from './views.ts';

/** A generation of tables, and what of it is older than this version. */
export interface Generation extends Upgrade {
  readonly number: number;
  readonly hasEarlier: boolean;
}

export interface Upgrade {
  /** Lists by the quarter hour are complete since then; 0 for always. */
  readonly listsFrom: number;
  /** Since when lists of days have all that single clicks have, see fill.ts. */
  readonly filledFrom: number;
}

/** Inserts that began before the views changed are over by then, and clocks of producers are not further ahead. */
const settledMs = 15 * 60_000;

export async function upgradeGeneration(clickHouse: ClickHouse, number: number, now: number): Promise<void> {
  const [tables, column] = await Promise.all([
    tablesOf(clickHouse, number),
    clickHouse.rows<{ type: string }>(`
      SELECT type FROM system.columns WHERE database = currentDatabase()
        AND table = '${tableName('dimensions', number)}' AND name = 'dimension'`),
  ]);
  // The view of lists is made last of all.
  const hasLists = tables.has(viewName('lists', number));
  if (hasLists && dimensionNames.every(name => column[0]?.type.includes(`'${name}'`))) return;
  for (const statement of columnStatements(number, tables)) await clickHouse.run(statement);
  const order = tables.get(tableName('clicks', number));
  if (order !== undefined && order !== clickOrder) await renameClicks(clickHouse, number);
  if (!hasLists) {
    const listsFrom = Math.ceil((now + settledMs) / grainMs.quarter) * grainMs.quarter;
    await noteUpgrade(clickHouse, number, { listsFrom, filledFrom: listsFrom });
  }
  for (const statement of generationStatements(number)) await clickHouse.run(statement);
}

/** Tables and views of a generation that matter here, and what they are sorted by. */
async function tablesOf(clickHouse: ClickHouse, number: number): Promise<ReadonlyMap<string, string>> {
  const names = (['clicks', 'lists', 'earlier'] as const).map(table => tableName(table, number));
  const rows = await clickHouse.rows<{ name: string; order: string }>(`
    SELECT name, sorting_key AS order FROM system.tables
    WHERE database = currentDatabase() AND name IN ${quotedList([...names, viewName('lists', number)])}`);
  return new Map(rows.map(({ name, order }) => [name, order]));
}

function columnStatements(number: number, tables: ReadonlyMap<string, string>): string[] {
  const has = (table: GenerationTable): boolean => tables.has(tableName(table, number));
  const alter = (table: GenerationTable, change: string): string =>
    `ALTER TABLE ${tableName(table, number)} ${change}`;
  const dimension = `MODIFY COLUMN dimension ${dimensionType} CODEC(ZSTD(1))`;
  const columns = wordDimensions.map(({ column }) => column);
  // Of clicks that were counted before, the domain follows from the page.
  const typeOf = (column: string): string =>
    column === 'domain' ? `${word} DEFAULT domainWithoutWWW(referrer) CODEC(ZSTD(1))` : packedWord;
  const singles = (['clicks', 'earlier'] as const).filter(has);
  return [
    alter('dimensions', dimension),
    ...(has('lists') ? [alter('lists', dimension)] : []),
    ...columns.map(column => alter('incoming', `ADD COLUMN IF NOT EXISTS ${column} ${word}`)),
    ...singles.flatMap(table =>
      columns.map(column => alter(table, `ADD COLUMN IF NOT EXISTS ${column} ${typeOf(column)}`)),
    ),
    ...changedViewStatements(number, tables.has(viewName('lists', number))),
  ];
}

/** Until there is a new table in its place, inserts fail and are sent again. */
async function renameClicks(clickHouse: ClickHouse, number: number): Promise<void> {
  const [clicks, earlier] = [tableName('clicks', number), tableName('earlier', number)];
  try {
    await clickHouse.run(`RENAME TABLE ${clicks} TO ${earlier}`);
  } catch (error) {
    // Another process may have done it.
    if (!(await tablesOf(clickHouse, number)).has(earlier)) throw error;
  }
}

export async function noteUpgrade(
  clickHouse: ClickHouse,
  number: number,
  { listsFrom, filledFrom }: Upgrade,
): Promise<void> {
  const body = JSON.stringify({ generation: number, lists_from_ms: listsFrom, filled_from_ms: filledFrom });
  await clickHouse.insert({ table: 'upgrades', format: 'JSONEachRow', body });
}

export async function describeGeneration(clickHouse: ClickHouse, number: number): Promise<Generation> {
  const [row] = await clickHouse.rows<Upgrade & { earlier: number }>(`
    SELECT max(lists_from_ms) AS listsFrom, min(filled_from_ms) AS filledFrom,
      (SELECT count() FROM system.tables
       WHERE database = currentDatabase() AND name = '${tableName('earlier', number)}') AS earlier
    FROM upgrades WHERE generation = ${number}`);
  const { earlier, ...upgrade } = row!;
  return { number, ...upgrade, hasEarlier: earlier > 0 };
}

/** How long single clicks are kept: ClickHouse drops their days by itself, whichever processes run. */
export async function keepClicks(clickHouse: ClickHouse, number: number, days: number): Promise<void> {
  const tables = (['clicks', 'earlier'] as const).map(table => tableName(table, number));
  const rows = await clickHouse.rows<{ name: string; text: string }>(`
    SELECT name, engine_full AS text FROM system.tables
    WHERE database = currentDatabase() AND name IN ${quotedList(tables)}`);
  for (const { name, text } of rows) {
    // Changing it makes the server look at every part, so it is done only when it changes.
    if (!text.includes(`toIntervalDay(${days})`))
      await clickHouse.run(`ALTER TABLE ${name} MODIFY TTL toDate(at) + toIntervalDay(${days})`);
  }
}
