/** Metrics of clicks, from the recorder of this process and the last reports of its threads. */

import { byLabel, type MetricName, metric, oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import type { DropReason } from './backlog.ts';
import type { Clicks } from './start.ts';

export function clickMetrics({ recorder, latest }: Pick<Clicks, 'recorder' | 'latest'>): Metric[] {
  const { stored = 0, steps = [], spilled = 0, spilledBytes = 0, dropped, suspicious } = latest.thread ?? {};
  const { counted = 0, duplicates = 0, lagMs = 0 } = latest.counting ?? latest.thread ?? {};
  const droppedBy: Record<'buffer-full' | DropReason, number> = {
    'buffer-full': recorder.dropped,
    'memory-full': 0,
    'spill-full': 0,
    invalid: 0,
    ...dropped,
  };
  return [
    oneValue('terse_clicks_recorded_total', recorder.recorded),
    oneValue('terse_clicks_stored_total', stored),
    oneValue('terse_clicks_counted_total', counted),
    oneValue('terse_clicks_duplicate_total', duplicates),
    oneValue('terse_clicks_spilled_total', spilled),
    oneValue('terse_clicks_spilled_bytes', spilledBytes),
    byLabel('terse_clicks_dropped_total', droppedBy),
    byLabel('terse_clicks_suspicious_total', suspicious ?? { address: 0, agent: 0 }),
    oneValue('terse_clicks_lag_seconds', lagMs / 1_000),
    ifKnown('terse_stats_bytes', latest.thread?.warehouse?.bytes),
    ifKnown('terse_stats_runs', latest.thread?.warehouse?.runs),
    ...countingMetrics(latest.counting),
    ifKnown('terse_clicks_drift_ratio', latest.drift),
    ifKnown('terse_clicks_settling_hours', latest.settlingHours),
    ifKnown('terse_clicks_hour_drift_ratio', latest.hours?.worst),
    ifKnown('terse_clicks_drifting_hours', latest.hours?.drifting),
    byLabel(
      'terse_click_step_seconds_total',
      Object.fromEntries(steps.map(({ name, milliseconds }) => [name, milliseconds / 1_000])),
    ),
  ];
}

/** The heaps of the threads that run all the time, as far as they have reported. */
export function clickHeaps({ latest: { thread, counting } }: Pick<Clicks, 'latest'>): Record<string, number> {
  return { ...(thread && { clicks: thread.heapBytes }), ...(counting && { counting: counting.heapBytes }) };
}

/** An unknown drift is not 0: the metric has no sample. */
const ifKnown = (name: MetricName, value: number | undefined): Metric =>
  metric(name, value === undefined ? [] : [{ value }]);

/** Metrics of a stream that processes share and count together. */
function countingMetrics(counting: Clicks['latest']['counting']): Metric[] {
  if (counting === undefined) return [];
  const { partitions, behind, blocks, poisoned } = counting;
  return [
    oneValue('terse_clicks_partitions', partitions),
    oneValue('terse_clicks_lag_messages', behind),
    oneValue('terse_clicks_blocks_total', blocks),
    oneValue('terse_clicks_poisoned_total', poisoned),
  ];
}
