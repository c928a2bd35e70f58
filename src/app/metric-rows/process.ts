/** Metrics of the processes themselves, and of those who watch them. */
import { counter, gauge, type MetricRow } from './metric-row.ts';

export const processMetrics = {
  terse_build_info: gauge('max', 'Always 1; the version is in the label.', 'version'),
  process_cpu_seconds_total: counter('Time that processors spent on this.'),
  process_resident_memory_bytes: gauge('sum', 'Memory in use.'),
  process_start_time_seconds: gauge('min', 'When the oldest process started, since 1970.'),
  terse_workers: gauge('max', 'Worker processes that there should be.'),
  terse_workers_serving: gauge('max', 'Worker processes that serve.'),
  terse_workers_heard: gauge(
    'max',
    'Workers whose numbers are in this answer; of the others, only what they had counted when last heard.',
  ),
  terse_worker_restarts_total: counter(
    'Workers that ended while they were needed or were replaced, by reason.',
    'reason',
  ),
  terse_log_lines_total: counter('Lines logged, by level.', 'level'),
  terse_spans_total: counter('Spans of traces, by what became of them.', 'result'),
} as const satisfies Readonly<Record<string, MetricRow>>;
