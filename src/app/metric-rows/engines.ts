/** Metrics of what Terse stands on: the store, the shared cache, the stream, the warehouse. */
import { counter, gauge, type MetricRow } from './metric-row.ts';

export const engineMetrics = {
  terse_engine_up: gauge(
    'min',
    '1 while an engine answers, 0 while it does not; `part` is what it is for. Only those in use.',
    'part',
    'engine',
  ),
  terse_store_reads_total: counter('Links read from the store.'),
  terse_store_waits_total: counter('Reads of the store that waited for their turn.'),
  terse_store_refused_total: counter('Reads of the store refused because too many waited.'),
  terse_store_pool_size: gauge(
    'sum',
    'Connections to Postgres at most, or rows that may wait for SQLite; DynamoDB has no such bound.',
  ),
  terse_store_pool_in_use: gauge('sum', 'How many of those connections are in use, or rows are waiting.'),
  terse_replica_reads_total: counter('Links asked for at a replica first.'),
  terse_shared_cache_lookups_total: counter('Lookups in the shared cache, by result.', 'result'),
  terse_shared_cache_fills_total: counter('Records offered to the shared cache, by result.', 'result'),
  terse_shared_cache_refreshes_total: counter('Records read anew before their time.'),
  terse_shared_cache_trusted: gauge('max', 'Whether the shared cache is in use.'),
  terse_shared_cache_fences_owed: gauge('max', 'Changes not yet fenced in the shared cache.'),
  terse_shared_cache_distrusted_total: counter('Times that all it held was given up.'),
  terse_change_messages_total: counter('Messages about changes.', 'what'),
  terse_changes_by_feed_alone_total: counter('Changes that no message told of in time.'),
  terse_redis_servers: gauge('max', 'Redis servers in use or expected to be.'),
  terse_redis_servers_away: gauge('max', 'Those of them that do not answer.'),
  terse_redis_deaf: gauge('max', 'Whether changes made elsewhere are heard of by the feed alone.'),
  terse_redis_failures_total: counter('Calls that got no answer in time.'),
  terse_redis_refusals_total: counter('Calls not sent, because the server was known to be away.'),
  terse_redis_outages_total: counter('Times that a server went away.'),
} as const satisfies Readonly<Record<string, MetricRow>>;
