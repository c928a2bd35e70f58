/**
 * Rechecks the links that are in use, because a site may be listed long after its link was made. Every link that this
 * process creates or reads for a visitor is noted here; after each update of the lists the most recently seen are
 * checked again, a few at a time, in the background.
 *
 * Invariant: everything is bounded. A limited number of links is remembered, the least recently seen evicted first; a
 * limited number is checked per step; and a check that could not be made ends the step, so a dead server is not asked
 * in a loop.
 */
import { type Clock, yieldToEventLoop } from '../../base/clock.ts';
import type { Inspection } from './checker.ts';

export interface RecheckOptions {
  readonly inspect: (url: string) => Promise<Inspection>;
  /** Changes whenever the lists do. */
  readonly generation: () => number;
  /** Handles a link whose URL is listed. Called again after later updates if the link is still seen. */
  readonly onListed: (code: string, threat: string, url: string) => Promise<void>;
  readonly onFault: (error: unknown) => void;
  readonly clock: Clock;
  readonly linksMax?: number;
}

const stepPeriodMs = 1_000;
/** Some ten milliseconds of work per second. */
const stepLinks = 200;
const sliceLinks = 20;

export class Recheck {
  readonly #options: RecheckOptions;
  readonly #linksMax: number;
  /** URLs by code, in order of arrival. */
  #due = new Map<string, string>();
  /** URLs by code, the most recently seen last. */
  #done = new Map<string, string>();
  #generation: number;
  #running: Promise<void> | undefined;
  #cancel: (() => void) | undefined;
  checked = 0;
  listed = 0;

  constructor(options: RecheckOptions) {
    this.#options = options;
    this.#linksMax = options.linksMax ?? 50_000;
    this.#generation = options.generation();
  }

  /** Links remembered, and how many of them have yet to be checked against the current lists. */
  get size(): { readonly links: number; readonly due: number } {
    return { links: this.#due.size + this.#done.size, due: this.#due.size };
  }

  see(code: string, url: string): void {
    // A waiting link keeps its place in the queue, or one in constant use would never come first.
    if (this.#due.get(code) === url) return;
    const place = this.#done.get(code) === url ? this.#done : this.#due;
    this.#done.delete(code);
    this.#due.delete(code);
    place.set(code, url);
    if (this.#due.size + this.#done.size > this.#linksMax) this.#forgetOne();
  }

  start(): void {
    this.#cancel = this.#options.clock.every(stepPeriodMs, () => void this.step());
  }

  async stop(): Promise<void> {
    this.#cancel?.();
    await this.#running;
  }

  /** Never rejects. */
  step(): Promise<void> {
    this.#running ??= this.#checkSome()
      .catch(error => this.#options.onFault(error))
      .finally(() => {
        this.#running = undefined;
      });
    return this.#running;
  }

  async #checkSome(): Promise<void> {
    const { generation, inspect } = this.#options;
    if (generation() !== this.#generation) {
      this.#generation = generation();
      this.#due = new Map([...this.#done, ...this.#due]);
      this.#done = new Map();
    }
    let count = 0;
    for (const [code, url] of this.#due) {
      const inspection = await inspect(url);
      // Whatever the result, this link has had its turn.
      if (this.#due.get(code) === url) this.#due.delete(code);
      if (inspection.verdict === 'unknown') {
        this.see(code, url);
        return;
      }
      this.checked += 1;
      if (inspection.verdict === 'listed') await this.#hand(code, inspection.threat, url);
      // If it was seen with another URL meanwhile, it is due again with that.
      if (!this.#due.has(code)) this.#done.set(code, url);
      count += 1;
      if (count === stepLinks) return;
      if (count % sliceLinks === 0) await yieldToEventLoop();
    }
  }

  /** Counted once it is handed over; if handling fails, the link is due again. */
  async #hand(code: string, threat: string, url: string): Promise<void> {
    try {
      await this.#options.onListed(code, threat, url);
      this.listed += 1;
    } catch (error) {
      this.see(code, url);
      throw error;
    }
  }

  /** Evicts a checked link first; then the one that waits longest, which was not seen for longest. */
  #forgetOne(): void {
    const from = this.#done.size > 0 ? this.#done : this.#due;
    const [oldest] = from.keys();
    if (oldest !== undefined) from.delete(oldest);
  }
}
