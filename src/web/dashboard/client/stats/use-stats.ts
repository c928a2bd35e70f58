/** The numbers of a range, with those of the time before it when they are to be compared. */
import { useEffect } from 'preact/hooks';
import { browserClock } from '../../../../base/browser-clock.ts';
import { ApiProblem } from '../api/problem.ts';
import { readStats, type StatsOf, type StatsRange } from '../api/stats.ts';
import type { Stats } from '../api/types.ts';
import { timeZone } from '../site.ts';
import { type Resource, useResource } from '../state/resource.ts';
import { usePlace } from '../state/router.ts';
import { type ChosenRange, previousOf, rangeOf } from './range.ts';

export interface ShownStats {
  readonly stats: Stats;
  readonly previous: Stats | undefined;
  readonly range: ChosenRange;
  /** When it was asked for; clicks that arrived later are not in it. */
  readonly askedAtMs: number;
}

const refreshMs = 30_000;
/** What operators get unless they choose; the first answer says what they chose. */
const usualMinuteDaysMs = 14 * 24 * 60 * 60_000;

/** Single minutes are kept from here on; zero until a server has said so. */
let toldMinutesFromMs = 0;

export function minutesFromMs(): number {
  return toldMinutesFromMs === 0 ? browserClock.now() - usualMinuteDaysMs : toldMinutesFromMs;
}

/** The range that the address bar names. */
export const shownRange = (query: URLSearchParams, nowMs = browserClock.now()): ChosenRange =>
  rangeOf(query, { nowMs, timeZone, minutesFromMs: minutesFromMs() });

export function useStats(of: StatsOf): Resource<ShownStats> & { readonly isCompared: boolean } {
  const { query } = usePlace();
  const isCompared = query.get('compare') === 'on';
  const key = ['range', 'from', 'to', 'interval', 'compare'].map(name => query.get(name) ?? '').join('|');
  const resource = useResource(`${of.code ?? ''}|${of.tag ?? ''}|${key}`, async signal => {
    const askedAtMs = browserClock.now();
    const range = shownRange(query, askedAtMs);
    const stats = await withHours(range, asked => readStats(of, asked, timeZone, signal));
    toldMinutesFromMs = Date.parse(stats.minutesFrom);
    const previous = isCompared
      ? await withHours(previousOf(stats, timeZone), asked => readStats(of, asked, timeZone, signal))
      : undefined;
    return { stats, previous, range: { ...range, interval: stats.interval }, askedAtMs };
  });
  const { reload } = resource;
  useEffect(
    () =>
      browserClock.every(refreshMs, () => {
        if (document.visibilityState === 'visible') reload();
      }),
    [reload],
  );
  return { ...resource, isCompared };
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
