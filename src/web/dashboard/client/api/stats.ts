/** The calls about numbers. */
import { request } from './request.ts';
import type { Interval, Stats } from './types.ts';

export interface StatsRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly interval: Interval;
}

/** Whose numbers: one link's, a tag's, or all. */
export interface StatsOf {
  readonly code?: string | undefined;
  readonly tag?: string | undefined;
}

export function readStats(
  of: StatsOf,
  range: StatsRange,
  timeZone: string,
  signal: AbortSignal,
): Promise<Stats> {
  const query = {
    from: new Date(range.fromMs).toISOString(),
    to: new Date(range.toMs).toISOString(),
    interval: range.interval,
    timeZone,
    ...(of.code === undefined && { tag: of.tag }),
  };
  const path = of.code === undefined ? '/api/v1/stats' : `/api/v1/links/${encodeURIComponent(of.code)}/stats`;
  return request('GET', path, { query, signal });
}
