/**
 * Series, recent clicks and the last click of scopes, in one query. What a query costs here is its planning, some
 * milliseconds whatever it finds; so one asks each table once, takes the rows as they lie, and adds them up at home. Only
 * where there would be very many rows are they added up there.
 */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { quotedList } from '../../../engines/clickhouse/text.ts';
import { BucketSums } from '../../bucket-sums.ts';
import {
  type CountsQuestion,
  grainMs,
  type ScopeCounts,
  scopeName,
  type TimeRange,
} from '../../warehouse.ts';
import { byKey, type GenerationTable, tableName } from './schema.ts';
import { spansOf } from './spans.ts';

/** Quarter hours of longer than this are added up by ClickHouse when days are asked for. */
const rowsAtHomeMaxMs = 62 * grainMs.day;

/** Where a row comes from. */
const ofQuarters = 0;
const ofMinutes = 1;
const ofDays = 2;

/** Ranges of the beginnings of rows, in each of the tables. */
interface Wanted {
  readonly series: TimeRange;
  readonly recent: Readonly<Record<'quarter' | 'minute', readonly TimeRange[]>>;
  /** If there are quarter hours since then, they tell the last click; they are those of the recent stretch, too. */
  readonly lastSince: number;
}

export async function readCounts(
  clickHouse: ClickHouse,
  generation: number,
  question: CountsQuestion,
): Promise<ScopeCounts> {
  const wanted = wantedFor(question);
  const [sources = [], starts, clicks, bots, suspicious, lasts] = await clickHouse.columns(
    countsText(generation, question, wanted),
    { settings: byKey },
  );
  const series = new BucketSums();
  let [recentClicks, lastClickAt] = [0, 0];
  for (const [row, source] of sources.entries()) {
    const at = starts![row]! * 1_000;
    // A series may end long before the last click.
    if (source === ofQuarters && at >= wanted.lastSince) lastClickAt = Math.max(lastClickAt, lasts![row]!);
    if (source === grainSource(question) && isIn(wanted.series, at)) {
      const start = question.grain === 'day' ? Math.floor(at / grainMs.day) * grainMs.day : at;
      series.add({ start, clicks: clicks![row]!, bots: bots![row]!, suspicious: suspicious![row]! });
    }
    if (source === ofDays) continue;
    const recent = wanted.recent[source === ofQuarters ? 'quarter' : 'minute'];
    if (recent.some(range => isIn(range, at))) recentClicks += clicks![row]!;
  }
  if (lastClickAt === 0) lastClickAt = await lastClickOf(clickHouse, generation, question);
  return { series: series.all(), recentClicks, lastClickAt: lastClickAt || null };
}

const isIn = ({ from, to }: TimeRange, at: number): boolean => at >= from && at < to;

function wantedFor({ grain, from, to, recent }: CountsQuestion): Wanted {
  // A bucket belongs to the range that its beginning is in.
  const series = beginnings(grainMs[grain], { from, to });
  const minutes = beginnings(grainMs.minute, recent);
  const spans = spansOf(minutes.from, minutes.to, ['quarter', 'minute']);
  const of = (wanted: string): TimeRange[] => spans.filter(span => span.grain === wanted);
  return {
    series,
    recent: { quarter: of('quarter'), minute: of('minute') },
    lastSince: beginnings(grainMs.quarter, minutes).from,
  };
}

const beginnings = (lengthMs: number, { from, to }: TimeRange): TimeRange => ({
  from: Math.ceil(from / lengthMs) * lengthMs,
  to: Math.ceil(to / lengthMs) * lengthMs,
});

const isAddedUpThere = ({ grain, from, to }: CountsQuestion): boolean =>
  grain === 'day' && to - from > rowsAtHomeMaxMs;

function grainSource(question: CountsQuestion): number {
  if (isAddedUpThere(question)) return ofDays;
  return question.grain === 'minute' ? ofMinutes : ofQuarters;
}

function countsText(generation: number, question: CountsQuestion, wanted: Wanted): string {
  const scopes = `scope IN ${quotedList(question.scopes.map(scopeName))}`;
  const from = (table: GenerationTable, ranges: readonly string[]): string =>
    `FROM ${tableName(table, generation)} WHERE ${scopes} AND (${ranges.join(' OR ')})`;
  const source = grainSource(question);
  const ofSeries = (table: number): string[] => (source === table ? [within(wanted.series)] : []);
  const quarters = [...ofSeries(ofQuarters), `start >= ${wanted.lastSince / 1_000}`];
  const minutes = [...ofSeries(ofMinutes), ...wanted.recent.minute.map(within)];
  const selects = [
    `SELECT ${ofQuarters}, toUnixTimestamp(start), clicks, bots, suspicious, toUnixTimestamp64Milli(last) ${from('quarters', quarters)}`,
  ];
  if (minutes.length > 0) {
    selects.push(
      `SELECT ${ofMinutes}, toUnixTimestamp(start), clicks, bots, suspicious, toInt64(0) ${from('minutes', minutes)}`,
    );
  }
  if (source === ofDays) {
    selects.push(`
      SELECT ${ofDays}, toUnixTimestamp(toStartOfDay(start)) AS day, sum(clicks), sum(bots), sum(suspicious), toInt64(0)
      ${from('quarters', ofSeries(ofDays))} GROUP BY day`);
  }
  return selects.join(' UNION ALL ');
}

const within = ({ from, to }: TimeRange): string => `(start >= ${from / 1_000} AND start < ${to / 1_000})`;

/** Of scopes that nobody has followed recently. */
async function lastClickOf(
  clickHouse: ClickHouse,
  generation: number,
  { scopes }: CountsQuestion,
): Promise<number> {
  const [row] = await clickHouse.rows<{ last: number }>(
    `SELECT toUnixTimestamp64Milli(max(last)) AS last FROM ${tableName('quarters', generation)}
     WHERE scope IN ${quotedList(scopes.map(scopeName))}`,
    { settings: byKey },
  );
  return row?.last ?? 0;
}
