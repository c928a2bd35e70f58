/**
 * Gauges of the queue: how many links wait and how long the oldest has. It is read every few seconds into plain fields,
 * so that a scrape costs nothing and an outage of the store leaves the last numbers, which keep ageing.
 */
import type { Clock } from '../base/clock.ts';
import { decisionDueMs } from './review.ts';
import type { ReviewStore } from './store.ts';

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
