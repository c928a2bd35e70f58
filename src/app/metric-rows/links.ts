/** Metrics of links being made: codes, the queue before the store, and what speaks against a destination. */
import { counter, gauge, type MetricRow } from './metric-row.ts';

export const linkMetrics = {
  url_shortens_total: counter(
    'Links made, by the plan of whoever made them and by whether the code was generated or chosen.',
    'plan',
    'kind',
  ),
  // Whoever has the fewest is the first to run out.
  kgs_available_keys: gauge('min', 'Codes at hand in each process without asking the store; the fewest.'),
  malicious_url_attempts_total: counter(
    'Destinations that were refused, blocked or quarantined, by what spoke against them.',
    'type',
  ),
  terse_url_checks_failed_total: counter(
    'Questions to checkers that came to nothing, and so counted as nothing known.',
    'checker',
    'reason',
  ),
  terse_blocklist_entries: gauge('min', 'Entries in force, by list.', 'list'),
  terse_list_healthy: gauge(
    'min',
    '1 when a list or file is in force as it is on disk; 0 when an older version of it, or none, is.',
    'list',
  ),
  terse_list_complaints: gauge('max', 'Lines of a list that are not in force, by list.', 'list'),
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
  terse_safe_browsing_rechecks_due: gauge(
    'sum',
    'Links in use that have yet to be checked against the lists of now.',
  ),
  terse_link_health_checks_total: counter(
    'Destinations asked whether they still answer, by what came of it.',
    'result',
  ),
  terse_moderation_waiting: gauge('max', 'Links that wait for a decision.'),
  terse_moderation_oldest_seconds: gauge('max', 'How long the oldest of them waits.'),
  terse_moderation_overdue_seconds: gauge(
    'max',
    'How long the oldest of them waits past the five minutes in which it should be decided.',
  ),
  terse_links_queued_total: counter('Links promised when the queue had them.'),
  terse_links_queue_passed_total: counter('Links stored directly because Redis could not show them before.'),
  terse_links_hastened_total: counter('Queued links stored ahead because somebody changed them.'),
  terse_links_queue_refused_total: counter(
    'Calls answered with 503 because the queue could not take their links, by reason.',
    'reason',
  ),
  // Of the same queue each process knows about the same; the worst of it is what matters.
  terse_links_queue_behind: gauge('max', 'Links that wait in the queue to be stored.'),
  terse_links_queue_away: gauge('max', 'Whether the queue takes nothing for now.'),
  terse_links_drained_total: counter('Queued links stored.'),
  terse_links_drained_again_total: counter('Queued links found in the store.'),
  terse_links_dead_total: counter('Messages that could not become links and were set aside.'),
  terse_links_drain_failures_total: counter('Attempts to drain the queue that failed.'),
  terse_pending_links_left_total: counter('Pending records that could not be removed.'),
  terse_pending_links_restored_total: counter('Pending records written anew.'),
} as const satisfies Readonly<Record<string, MetricRow>>;
