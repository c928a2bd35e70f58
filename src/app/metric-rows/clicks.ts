/** Metrics of clicks, from the redirect that notes one to the counts and the archive it ends in. */
import { counter, gauge, type MetricRow } from './metric-row.ts';

export const clickMetrics = {
  terse_clicks_recorded_total: counter('Clicks noted.'),
  terse_clicks_stored_total: counter('Clicks written to the stream.'),
  terse_clicks_counted_total: counter('Clicks counted, whoever noted them.'),
  terse_clicks_duplicate_total: counter('Clicks met twice and counted once.'),
  terse_clicks_spilled_total: counter('Clicks put on disk because the stream could not be written.'),
  terse_clicks_spilled_bytes: gauge('sum', 'Bytes on disk that wait for the stream.'),
  terse_clicks_dropped_total: counter(
    'Clicks given up before they were stored, by what was full, or as invalid.',
    'reason',
  ),
  terse_clicks_suspicious_total: counter('Clicks that came too fast, by whose pace it was.', 'reason'),
  terse_clicks_lag_seconds: gauge('max', 'Time since counting last worked.'),
  terse_clicks_drift_ratio: gauge('max', 'Share of noted clicks that were lost; checked each minute.'),
  terse_clicks_hour_drift_ratio: gauge(
    'max',
    'Of the last 24 whole hours the one whose numbers are furthest apart: the share of clicks that were lost or counted wrong.',
  ),
  terse_clicks_drifting_hours: gauge(
    'max',
    'Of the last 24 whole hours, those that drift by more than 0.1%.',
  ),
  terse_clicks_partitions: gauge('sum', 'Partitions of clicks counted here.'),
  terse_clicks_behind_messages: gauge('sum', 'Messages in these partitions that are not counted yet.'),
  terse_clicks_blocks_total: counter('Blocks of clicks counted.'),
  terse_clicks_poisoned_total: counter('Messages passed over because they are no clicks.'),
  terse_click_step_seconds_total: counter('Time spent in each step of enriching clicks.', 'step'),
  terse_archive_days: gauge(
    'max',
    'Days of clicks: archived and read back, waiting for it, and removed without.',
    'state',
  ),
  terse_archive_last_day_timestamp_seconds: gauge('max', 'Start of the newest archived day; 0 for none.'),
  terse_archive_failures_total: counter('Attempts to archive a day that failed.'),
} as const satisfies Readonly<Record<string, MetricRow>>;
