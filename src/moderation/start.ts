/** Moderation of this process: its context and its metrics. */

import type { AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { deriveKey } from '../codes/derived-key.ts';
import type { LinkContext } from '../links/context.ts';
import { oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import { decisionDueMs } from './review.ts';
import type { ModerationContext, ReviewStore } from './store.ts';

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

/**
 * Gauges of the queue: how many links wait and how long the oldest has. It is read every few seconds into plain fields,
 * so that a scrape costs nothing and an outage of the store leaves the last numbers, which keep ageing.
 */

const periodMs = 5_000;

export class QueueWatch {
  readonly #clock: Clock;
  readonly #reviews: Pick<ReviewStore, 'queueAge'>;
  readonly #cancel: () => void;
  #oldestAt: number | null = null;
  waiting = 0;

  constructor(reviews: Pick<ReviewStore, 'queueAge'>, clock: Clock, onError: (error: unknown) => void) {
    this.#reviews = reviews;
    this.#clock = clock;
    this.#cancel = clock.every(periodMs, () => {
      this.read().catch(onError);
    });
  }

  async read(): Promise<void> {
    const { waiting, oldestAt } = await this.#reviews.queueAge();
    this.waiting = waiting;
    this.#oldestAt = oldestAt;
  }

  get oldestMs(): number {
    return this.#oldestAt === null ? 0 : Math.max(0, this.#clock.now() - this.#oldestAt);
  }

  /** By how much the oldest entry exceeds the time in which everything should be decided. */
  get overdueMs(): number {
    return Math.max(0, this.oldestMs - decisionDueMs);
  }

  stop(): void {
    this.#cancel();
  }
}
