/**
 * Every metric of Terse, in one table: its name, its help, its labels, and how it combines over several processes.
 * All code that shows metrics makes them with the functions below, so nothing is shown that the table does not
 * have, and `docs/operations/metrics.md` is printed from it.
 */
import type { GaugeRule, Histogram, Metric, Sample } from './metrics.ts';

/** What a metric is, apart from its numbers, and the short ways to write it down. */
export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The names of its labels; each of its samples has all of them. */
  readonly labels: readonly string[];
  /** How a gauge combines over several processes; the worst hides nothing, and that is mostly the largest. */
  readonly across: GaugeRule;
}

const counter = (help: string, ...labels: readonly string[]): MetricRow => ({
  type: 'counter',
  help,
  labels,
  across: 'sum',
});

const gauge = (across: GaugeRule, help: string, ...labels: readonly string[]): MetricRow => ({
  type: 'gauge',
  help,
  labels,
  across,
});

const histogram = (help: string): MetricRow => ({
  type: 'histogram',
  help,
  labels: [],
  across: 'sum',
});

/** Metrics of client requests: redirects, the API, connections, and the load of the process. */
const requestMetrics = {
  url_redirects_total: counter('Visits of short links by the status they got.', 'status'),
  redirect_latency_seconds: histogram('From reading the request to having its answer ready.'),
  cache_hit_ratio: gauge('average', 'Share of lookups answered from memory.'),
  terse_cache_lookups_total: counter('Lookups of links in memory, by result.', 'result'),
  terse_cache_entries: gauge('sum', 'Links held in memory.'),
  terse_cache_bytes: gauge('sum', 'Memory that these links take.'),
  terse_heap_bytes: gauge(
    'sum',
    'Heap of each long-running thread, links in memory included, as of a few seconds ago.',
    'thread',
  ),
  terse_never_issued_total: counter('Unknown codes answered without a read.'),
  terse_api_answers_total: counter('API answers by route and status.', 'route', 'status'),
  terse_api_latency_seconds: histogram('From reading the API request to having its answer ready.'),
  terse_rate_limited_total: counter('Requests rejected by a rate limit, by plan and kind.', 'plan', 'kind'),
  terse_limits_local_total: counter(
    'Rate limits applied by a process alone, because the shared limits failed.',
  ),
  terse_passwords_waiting: gauge('sum', 'Passwords waiting to be hashed.'),
  terse_passwords_rejected_total: counter(
    'Passwords that were not hashed, because too many waited or the client disconnected.',
  ),
  terse_connections: gauge('sum', 'Clients connected.'),
  terse_requests_in_flight: gauge('sum', 'Requests in progress.'),
  terse_connections_evicted_total: counter(
    'Idle connections closed in favour of new ones at the connection cap.',
  ),
  terse_connections_rejected_total: counter(
    'Connections over the cap, or over the share of their address; answered with 503 unless they are health checks.',
  ),
  terse_bodies_timed_out_total: counter(
    'Requests answered with 503 because their body did not arrive while too many were waiting for theirs.',
  ),
  terse_connections_shed_total: counter(
    'Connections closed because too much was buffered for clients that did not read.',
  ),
  terse_tls_handshakes_failed_total: counter('Connections that ended during the TLS handshake.'),
  terse_tls_certificate_end_timestamp_seconds: gauge('min', 'When the certificate in use expires.'),
  terse_tls_certificate_stale: gauge(
    'max',
    '1 while the certificate files are invalid and an earlier certificate is in use.',
  ),
  terse_proxy_protocol_failed_total: counter(
    'Connections of trusted peers that did not begin with the PROXY protocol.',
  ),
  terse_event_loop_delay_seconds: histogram(
    'How late the event loop ran its timers; a request waits about as long before it is read.',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Metrics of link creation: codes, the queue before the store, and checks of destinations. */
const linkMetrics = {
  url_shortens_total: counter(
    'Links made, by the plan of their owner and by whether the code was generated or chosen.',
    'plan',
    'kind',
  ),
  // The process with the fewest is the first to run out.
  kgs_available_keys: gauge(
    'min',
    'Codes that a process can issue without a call to the store; the lowest of all processes.',
  ),
  malicious_url_attempts_total: counter(
    'Destinations that were rejected, blocked or quarantined, by reason.',
    'type',
  ),
  terse_url_checks_failed_total: counter(
    'Checks that failed, which count as not listed.',
    'checker',
    'reason',
  ),
  terse_blocklist_entries: gauge('min', 'Entries loaded, by list.', 'list'),
  terse_list_healthy: gauge(
    'min',
    '1 when a list or file is loaded in its current version; 0 when an older version, or none, is.',
    'list',
  ),
  terse_list_invalid_lines: gauge('max', 'Lines of a list that were left out, by list.', 'list'),
  terse_safe_browsing_checks_total: counter(
    'Checks of URLs by outcome; stale, waiting and failed count as not listed.',
    'outcome',
  ),
  terse_safe_browsing_updates_total: counter('Updates of the lists, by result.', 'result'),
  terse_safe_browsing_list_age_seconds: gauge(
    'max',
    'Time since the server confirmed a list; past 1,800 it blocks nothing.',
    'list',
  ),
  terse_safe_browsing_list_entries: gauge('min', 'Hash prefixes in a list.', 'list'),
  terse_safe_browsing_rechecks_total: counter('Links in use that were checked again, by result.', 'result'),
  terse_safe_browsing_rechecks_due: gauge('sum', 'Links in use not yet checked against the current lists.'),
  terse_link_health_checks_total: counter('Destinations checked, by result.', 'result'),
  terse_moderation_waiting: gauge('max', 'Links waiting for a decision.'),
  terse_moderation_oldest_seconds: gauge('max', 'How long the oldest of them waits.'),
  terse_moderation_overdue_seconds: gauge(
    'max',
    'How long the oldest of them waits beyond the target of five minutes.',
  ),
  terse_links_queued_total: counter('Links accepted by the queue.'),
  terse_links_queue_bypassed_total: counter('Links stored directly because Redis was unavailable.'),
  terse_links_stored_early_total: counter('Queued links stored early because they were changed.'),
  terse_links_queue_rejected_total: counter(
    'Calls answered with 503 because the queue could not accept their links, by reason.',
    'reason',
  ),
  // Each process knows about the same of the shared queue; the worst value is what matters.
  terse_links_queue_length: gauge('max', 'Links in the queue.'),
  terse_links_queue_down: gauge('max', '1 while the queue accepts nothing.'),
  terse_links_drained_total: counter('Queued links stored.'),
  terse_links_drained_duplicate_total: counter('Queued links that were already stored.'),
  terse_links_dead_lettered_total: counter(
    'Messages that could not be stored and went to the dead-letter topic.',
  ),
  terse_links_drain_failures_total: counter('Attempts to drain the queue that failed.'),
  terse_pending_links_left_total: counter('Pending records that could not be removed.'),
  terse_pending_links_restored_total: counter('Pending records written again.'),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Metrics of clicks, from the redirect that records one to the counts and the archive. */
const clickMetrics = {
  terse_clicks_recorded_total: counter('Clicks recorded.'),
  terse_clicks_stored_total: counter('Clicks written to the stream.'),
  terse_clicks_counted_total: counter('Clicks counted, of all processes.'),
  terse_clicks_duplicate_total: counter('Duplicate clicks, counted once.'),
  terse_clicks_spilled_total: counter('Clicks spilled to disk because the stream could not be written.'),
  terse_clicks_spilled_bytes: gauge('sum', 'Spilled bytes waiting for the stream.'),
  terse_clicks_dropped_total: counter(
    'Clicks dropped before they were stored, by reason: the full buffer, or invalid.',
    'reason',
  ),
  terse_clicks_suspicious_total: counter('Clicks that came too fast, by reason.', 'reason'),
  terse_clicks_lag_seconds: gauge('max', 'Time since clicks were last counted.'),
  terse_stats_bytes: gauge('max', 'Size of the file with the counts, where they are embedded.'),
  terse_stats_runs: gauge('max', 'Runs of clicks that the counts consist of, where they are embedded.'),
  terse_clicks_drift_ratio: gauge(
    'max',
    'Share of the clicks of the last day that were lost, in hours that are settled; checked each minute.',
  ),
  terse_clicks_settling_hours: gauge(
    'max',
    'Hours of the last day whose clicks may still arrive; usually only the current one. Drift leaves them out.',
  ),
  terse_clicks_hour_drift_ratio: gauge(
    'max',
    'The worst of the last 24 whole hours: the share of clicks that were lost or counted wrong.',
  ),
  terse_clicks_drifting_hours: gauge('max', 'How many of the last 24 whole hours drift by more than 0.1%.'),
  terse_clicks_partitions: gauge('sum', 'Partitions of clicks counted here.'),
  terse_clicks_lag_messages: gauge('sum', 'Messages in these partitions that are not counted yet.'),
  terse_clicks_blocks_total: counter('Blocks of clicks counted.'),
  terse_clicks_poisoned_total: counter('Messages skipped because they are not valid clicks.'),
  terse_click_step_seconds_total: counter('Time spent in each step of enriching clicks.', 'step'),
  terse_archive_days: gauge(
    'max',
    'Days of clicks by state: archived and verified, waiting to be archived, removed without an archive.',
    'state',
  ),
  terse_archive_last_day_timestamp_seconds: gauge('max', 'Start of the newest archived day; 0 for none.'),
  terse_archive_failures_total: counter('Attempts to archive a day that failed.'),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Metrics of the purges sent to caches in front of Terse; `edge` says which cache. */
const edgeMetrics = {
  terse_edge_purged_total: counter('Changed links purged from a cache in front.', 'edge'),
  terse_edge_emptied_total: counter('Times that a cache in front was emptied.', 'edge'),
  terse_edge_purge_failures_total: counter(
    'Purges that failed; they are retried until they succeed.',
    'edge',
  ),
  terse_edge_purge_lag_seconds: gauge(
    'max',
    'How long the oldest change has been waiting to be purged from a cache in front.',
    'edge',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Metrics of the engines below Terse: the store, the shared cache, the stream, the warehouse. */
const engineMetrics = {
  terse_engine_up: gauge(
    'min',
    '1 while an engine answers, 0 while it does not; `part` is its purpose. Only engines in use.',
    'part',
    'engine',
  ),
  terse_store_reads_total: counter('Links read from the store.'),
  terse_store_waits_total: counter('Reads of the store that waited for a slot.'),
  terse_store_rejected_total: counter('Reads of the store rejected because too many waited.'),
  terse_store_pool_size: gauge(
    'sum',
    'Maximum of connections to Postgres, or of rows that wait for SQLite; DynamoDB has no such bound.',
  ),
  terse_store_pool_in_use: gauge('sum', 'How many of those connections are in use, or rows are waiting.'),
  terse_replica_reads_total: counter('Links read from a replica first.'),
  terse_shared_cache_lookups_total: counter('Lookups in the shared cache, by result.', 'result'),
  terse_shared_cache_fills_total: counter('Records offered to the shared cache, by result.', 'result'),
  terse_shared_cache_refreshes_total: counter('Records refreshed before they expired.'),
  terse_shared_cache_renewals_total: counter('Links written back from memory to the shared cache.'),
  terse_shared_cache_trusted: gauge('max', 'Whether the shared cache is in use.'),
  terse_shared_cache_fences_owed: gauge('max', 'Changes not yet fenced in the shared cache.'),
  terse_shared_cache_discarded_total: counter(
    'Times that the whole content of the shared cache was discarded.',
  ),
  terse_change_messages_total: counter('Messages about changes.', 'what'),
  terse_change_messages_missed_total: counter(
    'Messages of other processes that were lost, found by gaps in their numbers.',
  ),
  terse_peers: gauge('max', 'Processes seen on the message channel, including this one.'),
  terse_freshness_proof_age_seconds: gauge(
    'max',
    'How long ago the cache in memory was last proven fresh, by the change feed and by the message channel.',
    'by',
  ),
  terse_isolated: gauge('max', '1 while neither the store nor the message channel proves the cache fresh.'),
  terse_stale_redirects_total: counter('Redirects from memory that could not be proven fresh.'),
  terse_key_copies_used_total: counter('API keys recognised from a proven copy while the store was down.'),
  terse_changes_by_feed_only_total: counter('Changes that no message announced in time.'),
  terse_redis_servers: gauge('max', 'Redis servers configured or discovered.'),
  terse_redis_servers_down: gauge('max', 'Redis servers that do not answer.'),
  terse_redis_unsubscribed: gauge('max', '1 while changes made elsewhere arrive by the feed alone.'),
  terse_redis_failures_total: counter('Calls that timed out.'),
  terse_redis_rejected_total: counter('Calls not sent, because the server was known to be down.'),
  terse_redis_outages_total: counter('Times that a server went down.'),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** Metrics of the processes themselves, and of their supervisor. */
const processMetrics = {
  terse_build_info: gauge('max', 'Always 1; the version is in the label.', 'version'),
  process_cpu_seconds_total: counter('CPU time used.'),
  process_resident_memory_bytes: gauge('sum', 'Memory in use.'),
  process_start_time_seconds: gauge('min', 'Start time of the oldest process, since 1970.'),
  terse_workers: gauge('max', 'Worker processes configured.'),
  terse_workers_serving: gauge('max', 'Worker processes that serve.'),
  terse_workers_reporting: gauge(
    'max',
    'Workers whose current numbers are in this scrape; for the others it has their last known ones.',
  ),
  terse_worker_restarts_total: counter(
    'Workers that exited unexpectedly or were replaced, by reason.',
    'reason',
  ),
  terse_log_lines_total: counter('Lines logged, by level.', 'level'),
  terse_log_suppressed_total: counter(
    'Repeated lines that were counted in another line and not written, by level.',
    'level',
  ),
  terse_spans_total: counter('Trace spans, by result.', 'result'),
} as const satisfies Readonly<Record<string, MetricRow>>;

/** By what they are about, in the order in which the document has them. */
export const metricSections = {
  Requests: requestMetrics,
  Links: linkMetrics,
  Clicks: clickMetrics,
  'Caches in front': edgeMetrics,
  Engines: engineMetrics,
  Processes: processMetrics,
} as const satisfies Readonly<Record<string, Readonly<Record<string, MetricRow>>>>;

export const metricTable = {
  ...requestMetrics,
  ...linkMetrics,
  ...clickMetrics,
  ...edgeMetrics,
  ...engineMetrics,
  ...processMetrics,
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricTable;

export function metric(name: MetricName, samples: readonly Sample[]): Metric {
  const { type, help, across }: MetricRow = metricTable[name];
  return { name, help, type: type === 'gauge' ? 'gauge' : 'counter', across, samples };
}

/** A metric without labels. */
export const oneValue = (name: MetricName, value: number): Metric => metric(name, [{ value }]);

/** A metric with one label, by the values of that. */
export function byLabel(name: MetricName, values: Readonly<Record<string, number>>): Metric {
  const [label = ''] = metricTable[name].labels;
  return metric(
    name,
    Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
  );
}

/** The three parts that Prometheus wants for a histogram. */
export function metricsOfHistogram(histogram: MetricName, durations: Histogram): Metric[] {
  const part = (suffix: string, samples: readonly Sample[]): Metric => ({
    ...metric(histogram, samples),
    name: `${histogram}_${suffix}`,
    histogram,
  });
  return [
    part('bucket', durations.buckets()),
    part('sum', [{ value: durations.sumSeconds }]),
    part('count', [{ value: durations.count }]),
  ];
}
