/** Metrics of what caches in front of Terse are told; `edge` says which of them. */
import { counter, gauge, type MetricRow } from './metric-row.ts';

export const edgeMetrics = {
  terse_edge_purged_total: counter('Changed links that a cache in front was told to forget.', 'edge'),
  terse_edge_emptied_total: counter('Times that a cache in front was told to forget everything.', 'edge'),
  terse_edge_purge_failures_total: counter(
    'Purges that a cache in front did not take; they are tried again until it does.',
    'edge',
  ),
  terse_edge_purge_behind_seconds: gauge(
    'max',
    'How long the oldest change has been waiting to be purged from a cache in front.',
    'edge',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;
