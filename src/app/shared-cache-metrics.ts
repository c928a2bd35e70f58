/** The numbers of the shared cache and of the reads that pass it. */
import type { Metric, Sample } from '../ops/metrics.ts';
import type { CacheTrust } from '../resolve/cache-trust.ts';
import type { Invalidation } from '../resolve/invalidation.ts';
import type { LinkFinder } from '../resolve/link-finder.ts';
import type { ReadGate } from '../resolve/read-gate.ts';

export interface SharedCacheParts {
  readonly finder: LinkFinder;
  readonly gate: ReadGate;
  readonly trust: CacheTrust;
  readonly invalidation: Invalidation;
  readonly isShared: boolean;
}

export function sharedCacheMetrics({
  finder,
  gate,
  trust,
  invalidation,
  isShared,
}: SharedCacheParts): Metric[] {
  const store: Metric[] = [
    counter('terse_store_waits_total', 'Reads of the store that waited for their turn.', gate.waits),
    counter(
      'terse_store_refused_total',
      'Reads of the store refused because too many waited.',
      gate.refusals,
    ),
    counter('terse_replica_reads_total', 'Links asked for at a replica first.', finder.nearReads),
  ];
  if (!isShared) return store;
  return [
    ...store,
    by('terse_shared_cache_lookups_total', 'Lookups in the shared cache, by result.', 'result', {
      hit: finder.cacheHits,
      miss: finder.cacheMisses,
      failed: finder.cacheFailures,
      passed: finder.cachePassed,
    }),
    by('terse_shared_cache_fills_total', 'Records offered to the shared cache, by result.', 'result', {
      kept: finder.fills,
      refused: finder.fillsRefused,
      failed: finder.fillsFailed,
    }),
    counter('terse_shared_cache_refreshes_total', 'Records read anew before their time.', finder.refreshes),
    gauge('terse_shared_cache_trusted', 'Whether the shared cache is in use.', Number(trust.isTrusted)),
    gauge('terse_shared_cache_fences_owed', 'Changes not yet fenced in the shared cache.', trust.owed),
    counter('terse_shared_cache_distrusted_total', 'Times that all it held was given up.', trust.distrusts),
    by('terse_change_messages_total', 'Messages about changes.', 'what', {
      sent: invalidation.messagesSent,
      failed: invalidation.messagesFailed,
      heard: invalidation.messagesHeard,
    }),
    counter(
      'terse_changes_by_feed_alone_total',
      'Changes that no message told of in time.',
      invalidation.heardByFeedAlone,
    ),
  ];
}

const counter = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'counter',
  help,
  samples: [{ value }],
});

const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'gauge',
  help,
  across: 'max',
  samples: [{ value }],
});

function by(name: string, help: string, label: string, values: Readonly<Record<string, number>>): Metric {
  const samples: Sample[] = Object.entries(values).map(([key, value]) => ({
    labels: { [label]: key },
    value,
  }));
  return { name, type: 'counter', help, samples };
}
