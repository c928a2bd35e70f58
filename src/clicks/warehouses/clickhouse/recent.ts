/**
 * The newest single clicks. The time of the oldest that is wanted is read first, from the columns of the conditions alone;
 * then whole clicks, which are few.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { dimensions, type ShownClick } from '../../dimensions.ts';
import { type RecentClicks, type RecentQuestion, shownOrder } from '../../warehouse.ts';
import { type AnswerTools, coverageOf } from './answer.ts';
import { filterConditions, scopeConditions, singlesText, whenText } from './singles.ts';
import type { Generation } from './upgrade.ts';

const words = dimensions.flatMap(({ name, column }) =>
  name === 'link' || name === 'bot' ? [] : [`toString(${column}) AS ${name}`],
);
const shown = [
  'code',
  'at',
  'toString(kind) AS kindName',
  'toString(signal) AS signalName',
  ...words.map(word => word.replace(' AS ', ' AS word_')),
].join(', ');
const selected = [
  'code',
  'toUnixTimestamp64Milli(at) AS atMs',
  'kindName AS kind',
  'signalName AS signal',
  ...dimensions.flatMap(({ name }) => (name === 'link' || name === 'bot' ? [] : [`word_${name} AS ${name}`])),
  "if(kindName = 'human', '', kindName) AS bot",
].join(', ');

export async function readRecent(
  { clickHouse, keptFrom }: AnswerTools,
  generation: Generation,
  question: RecentQuestion,
): Promise<RecentClicks> {
  const { scopes, from, to, filters, skip, limit } = question;
  // Clicks that an owner deleted are found below, whatever the scope.
  const { any } = scopeConditions(scopes, new Map());
  const select = (columns: string, range: { readonly from: number; readonly to: number }): string => `
    (SELECT * FROM (${singlesText(generation, columns, `${any} AND ${whenText([range])} ${filterConditions(filters)}`)}) AS clicks
    LEFT JOIN (SELECT code, max(at_ms) AS mark FROM forgotten GROUP BY code) AS marks USING (code)
    WHERE toUnixTimestamp64Milli(at) >= mark)`;
  const range = { from: Math.max(from, keptFrom), to };
  const [coveredFrom, least] = await Promise.all([
    coverageOf(clickHouse, generation, { scopes, from, to }, keptFrom),
    leastTime(clickHouse, select('code, at', range), skip + limit),
  ]);
  const rows = await clickHouse.rows<Omit<ShownClick, 'at'> & { readonly atMs: number }>(`
    SELECT ${selected} FROM ${select(shown, { ...range, from: Math.max(range.from, least) })}
    ORDER BY atMs DESC, ${shownOrder.join(', ')} LIMIT ${limit} OFFSET ${skip}`);
  return { clicks: rows.map(({ atMs, ...click }) => ({ at: atMs, ...click })), coveredFrom };
}

/** Of so many clicks, the newest first; 0 when there are fewer. */
async function leastTime(clickHouse: ClickHouse, clicks: string, count: number): Promise<number> {
  const [row] = await clickHouse.rows<{ least: number }>(
    `SELECT toUnixTimestamp64Milli(at) AS least FROM ${clicks} ORDER BY at DESC LIMIT 1 OFFSET ${count - 1}`,
  );
  return row?.least ?? 0;
}
