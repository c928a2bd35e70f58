/** The numbers of the shared cache and of the reads that pass it. */
import type { Metric } from '../ops/metrics.ts';
import type { CacheTrust } from '../resolve/cache-trust.ts';
import type { Invalidation } from '../resolve/invalidation.ts';
import type { LinkFinder } from '../resolve/link-finder.ts';
import type { ReadGate } from '../resolve/read-gate.ts';
import { byLabel, oneValue } from './metric-table.ts';

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
    oneValue('terse_store_waits_total', gate.waits),
    oneValue('terse_store_refused_total', gate.refusals),
    oneValue('terse_replica_reads_total', finder.nearReads),
  ];
  if (!isShared) return store;
  return [
    ...store,
    byLabel('terse_shared_cache_lookups_total', {
      hit: finder.cacheHits,
      miss: finder.cacheMisses,
      failed: finder.cacheFailures,
      passed: finder.cachePassed,
    }),
    byLabel('terse_shared_cache_fills_total', {
      kept: finder.fills,
      refused: finder.fillsRefused,
      failed: finder.fillsFailed,
    }),
    oneValue('terse_shared_cache_refreshes_total', finder.refreshes),
    oneValue('terse_shared_cache_trusted', Number(trust.isTrusted)),
    oneValue('terse_shared_cache_fences_owed', trust.owed),
    oneValue('terse_shared_cache_distrusted_total', trust.distrusts),
    byLabel('terse_change_messages_total', {
      sent: invalidation.messagesSent,
      failed: invalidation.messagesFailed,
      heard: invalidation.messagesHeard,
    }),
    oneValue('terse_changes_by_feed_alone_total', invalidation.heardByFeedAlone),
  ];
}
