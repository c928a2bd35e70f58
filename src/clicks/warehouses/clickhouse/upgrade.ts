/**
 * Tables of a version that kept lists by the day only, and single clicks in the order of their links. They are brought up
 * to this one when a process starts, by statements that can be run again and by several processes at once. Nothing is
 * copied: single clicks counted before stay in a table `earlier`, until their days are over, and are read beside the new
 * ones. Lists by the quarter hour are complete from a while after; what is older has lists of days.
 */
import { type ClickHouse, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import { dimensionNames, dimensionOf } from '../../dimensions.ts';
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
import { DeletionsSince, serverTime, undivided } from './count.ts';
import { changedViewStatements, clickOrder, generationStatements, listsText } from './schema.ts';
import { whenText } from './singles.ts';

/** A generation of tables, and what of it is older than this version. */
export interface Generation extends Upgrade {
  readonly number: number;
  readonly hasEarlier: boolean;
}

export interface Upgrade {
  /** Lists by the quarter hour are complete since then; 0 for always. */
  readonly listsFrom: number;
  /** Since when lists of days have all that single clicks have, see `fillLists`. */
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

const hourMs = 60 * 60_000;
const fillMaxMs = 5 * 60_000;
/** What earlier versions kept of single clicks and did not list. */
const added = (['city', 'referrerUrl', 'bot'] as const).map(dimensionOf);

/** Only what is inserted as one block is known by its token. */
const inOnePart = Object.entries({
  ...undivided,
  max_insert_threads: 1,
  deduplicate_insert_select: `'force_enable'`,
})
  .map(([name, value]) => `${name} = ${value}`)
  .join(', ');

interface Progress {
  readonly listsFrom: number;
  readonly filledFrom: number;
  /** Where single clicks begin and end, by the day; 0 when there are none. */
  readonly oldest: number;
  readonly end: number;
}

/**
 * Lists of days that were counted before an upgrade lack the dimensions that came with it. Where single clicks have them,
 * they are added, an hour at a time, the newest first. What an hour adds has a token, so that it is added once, whatever
 * stops a process or how many do it.
 *
 * Returns how many hours it added: one, or none when nothing is left.
 */
export async function fillLists(clickHouse: ClickHouse, generation: number): Promise<number> {
  const { listsFrom, filledFrom, oldest, end } = await progressOf(clickHouse, generation);
  const to = Math.min(filledFrom, end);
  if (to <= oldest) return 0;
  const from = Math.ceil(to / hourMs) * hourMs - hourMs;
  const deletions = new DeletionsSince(clickHouse, generation, await serverTime(clickHouse));
  await clickHouse.run(
    `INSERT INTO ${tableName('dimensions', generation)} (scope, day, dimension, value, clicks)
    SETTINGS ${inOnePart}, insert_deduplication_token = 'added/${from}'
    ${listsText(`(${earlierText(generation, from)})`, 'day', added)}`,
    { deadlineMs: fillMaxMs },
  );
  await deletions.repeat();
  await noteUpgrade(clickHouse, generation, { listsFrom, filledFrom: from });
  return 1;
}

async function progressOf(clickHouse: ClickHouse, generation: number): Promise<Progress> {
  const [row] = await clickHouse.rows<Progress>(`
    SELECT max(lists_from_ms) AS listsFrom, min(filled_from_ms) AS filledFrom,
      (SELECT toUnixTimestamp(toDateTime(parseDateTimeBestEffortOrZero(min(partition)), 'UTC')) * 1000 FROM system.parts
       WHERE database = currentDatabase() AND table = '${tableName('earlier', generation)}' AND active) AS oldest,
      (SELECT toUnixTimestamp(toDateTime(parseDateTimeBestEffortOrZero(max(partition)), 'UTC') + toIntervalDay(1)) * 1000
       FROM system.parts
       WHERE database = currentDatabase() AND table = '${tableName('earlier', generation)}' AND active) AS end
    FROM upgrades WHERE generation = ${generation}`);
  return row!;
}

/** Single clicks of an hour with their scopes, in which a link is not that was deleted since. */
const earlierText = (generation: number, from: number): string => `
  SELECT at, kind, ${added
    .map(({ column }) => column)
    .filter(column => column !== 'kind')
    .join(', ')},
    arrayConcat(
      if(toUnixTimestamp64Milli(at) < mark, [], [code]),
      if(owner = '', [], arrayConcat([concat('owner:', owner)], arrayMap(tag -> concat('tag:', owner, ':', tag), tags)))
    ) AS scopes
  FROM ${tableName('earlier', generation)} AS clicks
  LEFT JOIN (SELECT code AS deleted, max(at_ms) AS mark FROM forgotten GROUP BY code) AS marks ON deleted = code
  WHERE ${whenText([{ from, to: from + hourMs }])}`;
