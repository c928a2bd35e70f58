/** The numbers of queued writes, as operators see them. */
import type { Drain } from '../links/drain.ts';
import type { PendingRestorer } from '../links/pending-restorer.ts';
import type { QueueGate } from '../links/queue-gate.ts';
import type { QueuedStoreFigures } from '../links/queued-store.ts';
import type { Metric } from '../ops/metrics.ts';

export interface QueueParts {
  readonly figures: QueuedStoreFigures;
  readonly gate: QueueGate;
  readonly drain: Drain;
  readonly restorer: PendingRestorer;
}

export function queueMetrics({ figures, gate, drain, restorer }: QueueParts): Metric[] {
  return [
    counter('terse_links_queued_total', 'Links promised when the queue had them.', figures.queued),
    counter(
      'terse_links_queue_passed_total',
      'Links stored directly because Redis could not show them before.',
      figures.passed,
    ),
    counter(
      'terse_links_hastened_total',
      'Queued links stored ahead because somebody changed them.',
      figures.hastened,
    ),
    {
      name: 'terse_links_queue_refused_total',
      type: 'counter',
      help: 'Calls answered with 503 because the queue could not take their links, by reason.',
      samples: [
        { labels: { reason: 'full' }, value: gate.refusedFull },
        { labels: { reason: 'away' }, value: gate.refusedAway },
        { labels: { reason: 'busy' }, value: gate.refusedBusy },
      ],
    },
    gauge('terse_links_queue_behind', 'Links that wait in the queue to be stored.', gate.behind),
    gauge('terse_links_queue_away', 'Whether the queue takes nothing for now.', Number(gate.isAway)),
    counter('terse_links_drained_total', 'Queued links stored.', drain.drained),
    counter('terse_links_drained_again_total', 'Queued links found in the store.', drain.foundThere),
    counter('terse_links_dead_total', 'Messages that could not become links and were set aside.', drain.dead),
    counter('terse_links_drain_failures_total', 'Attempts to drain the queue that failed.', drain.failures),
    counter(
      'terse_pending_links_left_total',
      'Pending records that could not be removed.',
      drain.recordsLeft,
    ),
    counter('terse_pending_links_restored_total', 'Pending records written anew.', restorer.restored),
  ];
}

const counter = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'counter',
  help,
  samples: [{ value }],
});

/** Of the same queue each process knows about the same; the worst of it is what matters. */
const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'gauge',
  help,
  across: 'max',
  samples: [{ value }],
});
