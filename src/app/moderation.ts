/** Moderation of this process: its context, its routes, and the numbers it leaves behind. */
import type { Clock } from '../base/clock.ts';
import { deriveKey } from '../codes/derived-key.ts';
import type { Route } from '../http/route.ts';
import { auditRoutes } from '../http/routes/audit.ts';
import { moderationRoutes } from '../http/routes/moderation.ts';
import { reportRoutes } from '../http/routes/reports.ts';
import type { LinkContext } from '../links/context.ts';
import type { ModerationContext } from '../moderation/context.ts';
import { QueueWatch } from '../moderation/queue-watch.ts';
import type { Metric } from '../ops/metrics.ts';
import { oneValue } from './metric-table.ts';
import type { Stores } from './stores.ts';

export interface ModerationOptions {
  readonly stores: Pick<Stores, 'reviews' | 'audit'>;
  readonly links: Pick<LinkContext, 'store' | 'clock'>;
  readonly secret: Uint8Array;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

export interface Moderation {
  readonly context: ModerationContext;
  routes(site: { baseUrl: string; addressOf: (request: Request) => string }): Route[];
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
    routes: ({ baseUrl, addressOf }) => [
      ...reportRoutes({ moderation: context, addressOf }),
      ...moderationRoutes({ moderation: context, baseUrl }),
      ...auditRoutes(context),
    ],
    metrics: () => [
      oneValue('terse_moderation_waiting', watch.waiting),
      oneValue('terse_moderation_oldest_seconds', watch.oldestMs / 1_000),
      oneValue('terse_moderation_overdue_seconds', watch.overdueMs / 1_000),
    ],
    stop: () => watch.stop(),
  };
}
