/** The numbers of queued writes, as operators see them. */
import type { Drain } from '../links/drain.ts';
import type { PendingRestorer } from '../links/pending-restorer.ts';
import type { QueueGate } from '../links/queue-gate.ts';
import type { QueuedStoreFigures } from '../links/queued-store.ts';
import type { Metric } from '../ops/metrics.ts';
import { byLabel, oneValue } from './metric-table.ts';

export interface QueueParts {
  readonly figures: QueuedStoreFigures;
  readonly gate: QueueGate;
  readonly drain: Drain;
  readonly restorer: PendingRestorer;
}

export function queueMetrics({ figures, gate, drain, restorer }: QueueParts): Metric[] {
  return [
    oneValue('terse_links_queued_total', figures.queued),
    oneValue('terse_links_queue_passed_total', figures.passed),
    oneValue('terse_links_hastened_total', figures.hastened),
    byLabel('terse_links_queue_refused_total', {
      full: gate.refusedFull,
      away: gate.refusedAway,
      busy: gate.refusedBusy,
    }),
    oneValue('terse_links_queue_behind', gate.behind),
    oneValue('terse_links_queue_away', Number(gate.isAway)),
    oneValue('terse_links_drained_total', drain.drained),
    oneValue('terse_links_drained_again_total', drain.foundThere),
    oneValue('terse_links_dead_total', drain.dead),
    oneValue('terse_links_drain_failures_total', drain.failures),
    oneValue('terse_pending_links_left_total', drain.recordsLeft),
    oneValue('terse_pending_links_restored_total', restorer.restored),
  ];
}
