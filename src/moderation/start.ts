/** Moderation of this process: its context and its metrics. */

import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { deriveKey } from '../codes/derived-key.ts';
import type { LinkContext } from '../links/context.ts';
import { oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import type { ModerationContext } from './context.ts';
import { QueueWatch } from './queue-watch.ts';
import type { ReviewStore } from './store.ts';

export interface ModerationOptions {
  readonly stores: { readonly reviews: ReviewStore; readonly audit: AuditLog };
  readonly links: Pick<LinkContext, 'store' | 'clock'>;
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export interface Moderation {
  readonly context: ModerationContext;
  metrics(): Metric[];
  stop(): void;
}

export function startModeration({ stores, links, secret, clock, onError }: ModerationOptions): Moderation {
  const context: ModerationContext = {
    links,
    reviews: stores.reviews,
    audit: stores.audit,
    reporterKey: deriveKey(secret, 'reporters of links'),
  };
  const watch = new QueueWatch(stores.reviews, clock, onError);
  return {
    context,
    metrics: () => [
      oneValue('terse_moderation_waiting', watch.waiting),
      oneValue('terse_moderation_oldest_seconds', watch.oldestMs / 1_000),
      oneValue('terse_moderation_overdue_seconds', watch.overdueMs / 1_000),
    ],
    stop: () => watch.stop(),
  };
}
