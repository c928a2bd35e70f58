/** Metrics of what clients ask: redirects, the API, connections, and how busy the process is with all that. */
import { counter, gauge, histogram, type MetricRow } from './metric-row.ts';

export const requestMetrics = {
  url_redirects_total: counter('Visits of short links by the status they got.', 'status'),
  redirect_latency_seconds: histogram('From a visit of a short link being read to its answer being ready.'),
  cache_hit_ratio: gauge('average', 'Share of lookups answered from memory.'),
  terse_cache_lookups_total: counter('Lookups of links in memory, by result.', 'result'),
  terse_cache_entries: gauge('sum', 'Links held in memory.'),
  terse_never_issued_total: counter('Unknown codes answered without a read.'),
  terse_api_answers_total: counter('API answers by route and status.', 'route', 'status'),
  terse_api_latency_seconds: histogram('From an API request being read to its answer being ready.'),
  terse_rate_limited_total: counter('Requests refused by a limit, by plan and kind.', 'plan', 'kind'),
  terse_limits_alone_total: counter(
    'Limited requests decided without the other processes, because the shared limits failed.',
  ),
  terse_passwords_waiting: gauge('sum', 'Passwords that wait to be hashed.'),
  terse_passwords_refused_total: counter(
    'Passwords that were not hashed, because too many waited or the client had gone.',
  ),
  terse_connections: gauge('sum', 'Clients connected.'),
  terse_requests_in_flight: gauge('sum', 'Requests being worked on.'),
  terse_connections_evicted_total: counter(
    'Waiting connections closed in favour of new ones, because as many were connected as may be.',
  ),
  terse_connections_turned_away_total: counter(
    'Connections beyond the cap, or the share of their address, that were answered with 503 unless they were health checks.',
  ),
  terse_bodies_given_up_total: counter(
    'Requests answered with 503 because their body had not come and too many others were waiting for theirs.',
  ),
  terse_connections_shed_total: counter(
    'Connections cut off because too much was kept for clients that did not read.',
  ),
  terse_tls_handshakes_failed_total: counter(
    'Connections that ended before both sides had agreed how to encrypt.',
  ),
  terse_tls_certificate_end_timestamp_seconds: gauge('min', 'When the certificate in use ends.'),
  terse_tls_certificate_kept: gauge(
    'max',
    'Whether the files of the certificate cannot be used, so that an earlier one is kept.',
  ),
  terse_proxy_introductions_failed_total: counter(
    'Connections of trusted peers that did not begin with the PROXY protocol.',
  ),
  terse_event_loop_delay_seconds: histogram(
    'How late a process came to what was due; whoever asks waits about as long before being read.',
  ),
} as const satisfies Readonly<Record<string, MetricRow>>;
