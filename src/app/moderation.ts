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
      gauge('terse_moderation_waiting', 'Links that wait for a decision.', watch.waiting),
      gauge('terse_moderation_oldest_seconds', 'How long the oldest of them waits.', watch.oldestMs / 1_000),
      gauge(
        'terse_moderation_overdue_seconds',
        'How long the oldest of them waits past the five minutes in which it should be decided.',
        watch.overdueMs / 1_000,
      ),
    ],
    stop: () => watch.stop(),
  };
}

const gauge = (name: string, help: string, value: number): Metric => ({
  name,
  type: 'gauge',
  help,
  samples: [{ value }],
});
