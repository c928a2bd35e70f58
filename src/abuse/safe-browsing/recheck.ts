/**
 * Looks again at the links that are in use, because a site may be listed long after its link was made. Every link
 * that this process makes or reads for a visitor passes by here; after each update of the lists those seen last are
 * checked once more, a few at a time, while nobody waits for it.
 *
 * Invariant: bounded on all sides. So many links are remembered, the least recently seen going first; so many are
 * checked per step; and a check that could not be made ends the step, so a dead server is not asked in a loop.
 */
import { type Clock, letOthersRun } from '../../base/clock.ts';
import type { Inspection } from './checker.ts';

export interface RecheckOptions {
  readonly inspect: (url: string) => Promise<Inspection>;
  /** Changes whenever the lists do. */
  readonly generation: () => number;
  /** What is to become of a link whose URL is listed. Called again after later updates if the link is still seen. */
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
  /** URLs by code: first come, first served. */
  #due = new Map<string, string>();
  /** URLs by code, those seen last at the end. */
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

  /** Links remembered, and how many of them have yet to be checked against the lists of today. */
  get size(): { readonly links: number; readonly due: number } {
    return { links: this.#due.size + this.#done.size, due: this.#due.size };
  }

  see(code: string, url: string): void {
    // Whoever waits keeps the place in the row, or a link in constant use would never come first.
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
      // Whatever comes of it, this link has had its turn.
      if (this.#due.get(code) === url) this.#due.delete(code);
      if (inspection.verdict === 'unknown') {
        this.see(code, url);
        return;
      }
      this.checked += 1;
      if (inspection.verdict === 'listed') await this.#hand(code, inspection.threat, url);
      // Seen with another URL meanwhile, it is due again with that.
      if (!this.#due.has(code)) this.#done.set(code, url);
      count += 1;
      if (count === stepLinks) return;
      if (count % sliceLinks === 0) await letOthersRun();
    }
  }

  /** Counted once it is in other hands; one that they drop is due again. */
  async #hand(code: string, threat: string, url: string): Promise<void> {
    try {
      await this.#options.onListed(code, threat, url);
      this.listed += 1;
    } catch (error) {
      this.see(code, url);
      throw error;
    }
  }

  /** What was checked can be spared most easily; then who waits longest, not having been seen for longest. */
  #forgetOne(): void {
    const from = this.#done.size > 0 ? this.#done : this.#due;
    const [oldest] = from.keys();
    if (oldest !== undefined) from.delete(oldest);
  }
}
