/**
 * Rewrites pending records after their storage was down and may have lost some: until then, a link that was
 * acknowledged and is not yet stored could not be found. The queue has all of them. It also runs at startup, since it
 * cannot know what was lost before. A record that is written while its link is being stored may stay behind; it expires
 * on its own and does no harm, since the store is asked first, and a changed link is not answered from its record.
 */
import { Backoff } from '../base/backoff.ts';
import type { Clock } from '../base/clock.ts';
import type { LinkQueue, PendingLinks } from './queue.ts';
import { readableLinks } from './queued-link.ts';

export interface PendingRestorerOptions {
  readonly queue: Pick<LinkQueue, 'waiting'>;
  readonly pendings: Pick<PendingLinks, 'put' | 'onReturn'>;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

/** Longer than an append takes: a link whose record was written and lost during its append is in the queue by then. */
const lateAppendMs = 10_000;

export class PendingRestorer {
  readonly #options: PendingRestorerOptions;
  readonly #pauses: Backoff;
  #work: Promise<void> | undefined;
  #isDue = false;
  #cancelSecondLook: (() => void) | undefined;
  restored = 0;

  constructor(options: PendingRestorerOptions) {
    this.#options = options;
    this.#pauses = new Backoff(options.clock);
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

  /** One run at a time; a loss during a run starts another. */
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
