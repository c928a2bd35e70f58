/**
 * Writes pending records anew after the place that keeps them was away and may have lost some: until it has, a link
 * that was promised and is not yet stored could not be found. The queue knows all of them. At its start it does the same,
 * since nobody tells it what was lost before. A record that is written while its link is being stored may stay behind;
 * it ends by itself and does no harm, since the store is asked first.
 */
import type { Clock } from '../base/clock.ts';
import { Pauses } from '../base/pauses.ts';
import type { PendingLinks } from './pending.ts';
import type { LinkQueue } from './queue.ts';
import { readableLinks } from './queued-link.ts';

export interface PendingRestorerOptions {
  readonly queue: Pick<LinkQueue, 'waiting'>;
  readonly pendings: Pick<PendingLinks, 'put' | 'onReturn'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** More than an append takes: what was on its way into the queue at a loss, its record written before, is there by then. */
const lateAppendMs = 10_000;

export class PendingRestorer {
  readonly #options: PendingRestorerOptions;
  readonly #pauses: Pauses;
  #work: Promise<void> | undefined;
  #isDue = false;
  #cancelSecondLook: (() => void) | undefined;
  restored = 0;

  constructor(options: PendingRestorerOptions) {
    this.#options = options;
    this.#pauses = new Pauses(options.clock);
  }

  start(): void {
    this.#options.pendings.onReturn(() => this.#lookTwice());
    this.#lookTwice();
  }

  async stop(): Promise<void> {
    this.#pauses.end();
    this.#cancelSecondLook?.();
    await this.#work;
  }

  #lookTwice(): void {
    if (this.#pauses.isOver) return;
    this.#look();
    this.#cancelSecondLook?.();
    this.#cancelSecondLook = this.#options.clock.after(lateAppendMs, () => this.#look());
  }

  #look(): void {
    this.#isDue = true;
    this.#work ??= this.#restore();
  }

  /** Once at a time; what is lost meanwhile is looked for once more. */
  async #restore(): Promise<void> {
    while (this.#isDue && !this.#pauses.isOver) {
      this.#isDue = false;
      try {
        await this.#restoreAll();
        this.#pauses.reset();
      } catch (error) {
        this.#isDue = true;
        this.#options.onError(error);
        await this.#pauses.afterFailure();
      }
    }
    this.#work = undefined;
  }

  async #restoreAll(): Promise<void> {
    const { queue, pendings } = this.#options;
    for await (const texts of queue.waiting()) {
      if (this.#pauses.isOver) return;
      const links = readableLinks(texts);
      await pendings.put(links);
      this.restored += links.length;
    }
  }
}
