/**
 * Series, recent clicks and totals of scopes, in one query. What a query costs here is its planning, some
 * milliseconds whatever it finds; so one asks each table once, takes the rows as they lie, and adds them up at home. Only
 * where there would be very many rows are they added up there.
 */
import { type ClickHouse, quotedList } from '../../../engines/clickhouse/clickhouse.ts';
import {
  BucketSums,
  type CountsQuestion,
  grainMs,
  type ScopeCounts,
  type ScopeTotal,
  scopeName,
  type TimeRange,
} from '../../warehouse.ts';
import { byKey, type GenerationTable, tableName } from './schema.ts';
import { spansOf } from './visitors.ts';

/** Quarter hours of longer than this are added up by ClickHouse when days are asked for. */
const rowsAtHomeMaxMs = 62 * grainMs.day;

/** Where a row comes from. */
const ofQuarters = 0;
const ofMinutes = 1;
const ofDays = 2;
/** All that was ever counted of the scopes, in one row. */
const ofAllTime = 3;

/** Ranges of the beginnings of rows, in each of the tables. */
interface Wanted {
  readonly series: TimeRange;
  readonly recent: Readonly<Record<'quarter' | 'minute', readonly TimeRange[]>>;
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
  let recentClicks = 0;
  let total: ScopeTotal = { clicks: 0, bots: 0, suspicious: 0, lastClickAt: null };
  for (const [row, source] of sources.entries()) {
    const at = starts![row]! * 1_000;
    const counted = { clicks: clicks![row]!, bots: bots![row]!, suspicious: suspicious![row]! };
    if (source === ofAllTime) {
      total = { ...counted, lastClickAt: lasts![row]! || null };
      continue;
    }
    if (source === grainSource(question) && isIn(wanted.series, at)) {
      const start = question.grain === 'day' ? Math.floor(at / grainMs.day) * grainMs.day : at;
      series.add({ start, ...counted });
    }
    if (source === ofDays) continue;
    const recent = wanted.recent[source === ofQuarters ? 'quarter' : 'minute'];
    if (recent.some(range => isIn(range, at))) recentClicks += counted.clicks;
  }
  return { series: series.all(), recentClicks, total };
}

const isIn = ({ from, to }: TimeRange, at: number): boolean => at >= from && at < to;

function wantedFor({ grain, from, to, recent }: CountsQuestion): Wanted {
  // A bucket belongs to the range that its beginning is in.
  const series = beginnings(grainMs[grain], { from, to });
  const minutes = beginnings(grainMs.minute, recent);
  const spans = spansOf(minutes.from, minutes.to, ['quarter', 'minute']);
  const of = (wanted: string): TimeRange[] => spans.filter(span => span.grain === wanted);
  return { series, recent: { quarter: of('quarter'), minute: of('minute') } };
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
  const quarters = [...ofSeries(ofQuarters), ...wanted.recent.quarter.map(within)];
  const minutes = [...ofSeries(ofMinutes), ...wanted.recent.minute.map(within)];
  const selects = [
    `SELECT ${ofAllTime}, toUInt32(0), sum(clicks), sum(bots), sum(suspicious), toUnixTimestamp64Milli(max(last))
     FROM ${tableName('quarters', generation)} WHERE ${scopes}`,
  ];
  if (quarters.length > 0) {
    selects.push(
      `SELECT ${ofQuarters}, toUnixTimestamp(start), clicks, bots, suspicious, toInt64(0) ${from('quarters', quarters)}`,
    );
  }
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
