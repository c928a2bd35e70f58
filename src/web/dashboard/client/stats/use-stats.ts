/** The numbers that a statistics page shows, for the range, zone, filters and comparison in the address bar. */
import { useMemo } from 'preact/hooks';
import { browserClock } from '../../../../base/clock.ts';
import { isTimeZone } from '../../../../base/zone.ts';
import { dimensionNames } from '../../../../clicks/dimensions.ts';
import { readStats, type StatsOf, type StatsRange } from '../api/calls.ts';
import { ApiProblem, isStranger } from '../api/request.ts';
import type { Stats } from '../api/types.ts';
import { timeZone as browserZone } from '../site.ts';
import { type Resource, useRefresh, useResource } from '../state/connection.ts';
import { usePlace } from '../state/router.ts';
import { filterQuery, filtersIn, type ViewFilter } from './filters.ts';
import {
  type ChosenRange,
  type ComparisonName,
  comparisonOf,
  comparisonQuery,
  firstBucket,
  type RangeContext,
  rangeOf,
} from './range.ts';

interface StatsSubject extends StatsOf {
  /** When the link was created; only for one link. */
  readonly createdMs?: number;
}

/** The user's choice. */
export interface StatsChoice {
  readonly of: StatsSubject;
  readonly range: ChosenRange;
  readonly timeZone: string;
  readonly filters: readonly ViewFilter[];
  readonly comparison: ComparisonName | undefined;
}

export interface ShownStats {
  readonly stats: Stats;
  /** When it was requested; clicks that arrived later are not in it. */
  readonly askedAtMs: number;
  /** The key of the request. */
  readonly key: string;
  /** The choice of these numbers: older than the address bar while the next numbers are loading. */
  readonly choice: StatsChoice;
}

export interface StatsResource extends Resource<ShownStats> {
  readonly choice: StatsChoice;
  /** Whether the numbers are those that the address bar asks for. */
  readonly isCurrent: boolean;
}

const refreshMs = 30_000;
/** The default of the setting; the first answer has the operator's value. */
const usualMinuteDaysMs = 14 * 24 * 60 * 60_000;

/** Single minutes are kept from here on; zero until a server has said so. */
let shownMinutesFromMs = 0;

export function minutesFromMs(): number {
  return shownMinutesFromMs === 0 ? browserClock.now() - usualMinuteDaysMs : shownMinutesFromMs;
}

function choiceIn(query: URLSearchParams, of: StatsSubject): StatsChoice {
  const zone = query.get('zone') ?? '';
  const timeZone = isTimeZone(zone) ? zone : browserZone;
  const context: RangeContext = {
    nowMs: browserClock.now(),
    timeZone,
    minutesFromMs: minutesFromMs(),
    createdMs: of.createdMs,
  };
  const range = rangeOf(query, context);
  return {
    of,
    range,
    timeZone,
    filters: isStranger() ? [] : filtersIn(query, of.code !== undefined),
    comparison: comparisonOf(query, range.preset),
  };
}

const chosenBy = [
  'range',
  'from',
  'to',
  'zoomFrom',
  'zoomTo',
  'interval',
  'compare',
  'zone',
  ...dimensionNames,
];

export function useStats(of: StatsSubject): StatsResource {
  const { query } = usePlace();
  const key = [
    of.code,
    of.tag,
    of.createdMs,
    ...chosenBy.map(name => (query.has(name) ? `=${query.get(name)}` : '')),
  ].join('|');
  const choice = useMemo(() => choiceIn(query, of), [key]);
  const resource = useResource(key, async signal => ({
    ...(await load(choiceIn(query, of), signal)),
    key,
  }));
  useRefresh(resource.reload, refreshMs);
  return { ...resource, choice, isCurrent: resource.value?.key === key };
}

async function load(choice: StatsChoice, signal: AbortSignal): Promise<Omit<ShownStats, 'key'>> {
  const askedAtMs = browserClock.now();
  const { of, timeZone, filters, comparison, range } = choice;
  const read = (asked: StatsRange): Promise<Stats> =>
    readStats(
      of,
      asked,
      { timeZone, ...filterQuery(filters), ...comparisonQuery(comparison, asked, timeZone) },
      signal,
    );
  const found = await withHours(range, read);
  const stats = range.preset === 'all' ? await sinceFirst(found, read) : found;
  shownMinutesFromMs = Date.parse(stats.minutesFrom);
  const shown = { fromMs: Date.parse(stats.from), toMs: Date.parse(stats.to), interval: stats.interval };
  return { stats, askedAtMs, choice: { ...choice, range: { ...range, ...shown } } };
}

/** Days are too coarse for the first week of all clicks. */
const hoursMaxMs = 8 * 24 * 60 * 60_000;

async function sinceFirst(stats: Stats, read: (range: StatsRange) => Promise<Stats>): Promise<Stats> {
  const first = firstBucket(stats.series);
  const from = stats.series[first]?.start ?? stats.from;
  const [fromMs, toMs] = [Date.parse(from), Date.parse(stats.to)];
  if (toMs - fromMs <= hoursMaxMs) return read({ fromMs, toMs, interval: 'hour' });
  return { ...stats, from, series: stats.series.slice(first) };
}

/** Minutes that are no longer kept are answered in hours. */
async function withHours(range: StatsRange, read: (range: StatsRange) => Promise<Stats>): Promise<Stats> {
  try {
    return await read(range);
  } catch (error) {
    const isRefused = error instanceof ApiProblem && error.status === 400 && range.interval === 'minute';
    if (!isRefused) throw error;
    return read({ ...range, interval: 'hour' });
  }
}
