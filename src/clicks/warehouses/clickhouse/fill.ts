/**
 * Lists of days that were counted before an upgrade lack the dimensions that came with it. Where single clicks have them,
 * they are added, an hour at a time, the newest first. What an hour adds has a token, so that it is added once, whatever
 * stops a process or how many do it.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { dimensionOf } from '../../dimensions.ts';
import { tableName } from './columns.ts';
import { DeletionsSince, serverTime, undivided } from './count.ts';
import { whenText } from './singles.ts';
import { noteUpgrade } from './upgrade.ts';
import { listsText } from './views.ts';

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

/** Returns how many hours it added: one, or none when nothing is left. */
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
