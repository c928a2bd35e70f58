/**
 * Where the resolver finds a record that its own memory does not have: the shared cache, then the store. The cache is
 * asked only about what it may be believed about, and never waited for longer than a blink; without it everything goes
 * to the store, a bounded number of reads at a time. What the store said is cached for the others, after the answer.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { type CacheEntry, fenceMsDefault, type LinkCache } from './cache.ts';
import { type CacheLifetimes, cacheLifetimesDefault, lifetimeOf } from './cache-lifetime.ts';
import type { CacheTrust } from './cache-trust.ts';
import type { ReadGate } from './read-gate.ts';

export interface LinkFinderOptions {
  readonly store: Pick<LinkStore, 'find' | 'findNear'>;
  readonly cache: Pick<LinkCache, 'get' | 'fill'>;
  readonly trust: Pick<CacheTrust, 'mayUse' | 'isRecent' | 'trustFromMs'>;
  readonly gate: ReadGate;
  /** False for a code that may be issued at any moment without a word: that it is missing is not for keeping. */
  readonly mayKeepAbsence: (code: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetimes?: CacheLifetimes;
}

/** A read that took longer brings nothing into the cache: the fence that it should have met may be gone. */
const loadMaxMs = fenceMsDefault / 2;
/**
 * An early refresh reckons with at least this much time. A link that is in memory is asked for about once per lifetime
 * there, so less would nearly always come too late.
 */
const refreshFloorMs = 1_000;
const loadWeight = 1 / 8;

export class LinkFinder {
  readonly #options: LinkFinderOptions;
  readonly #refreshing = new Set<string>();
  /** How long reads of the store take lately. */
  #loadMs = 0;
  cacheHits = 0;
  cacheMisses = 0;
  /** Without an answer from the cache. */
  cacheFailures = 0;
  /** Not even looked up in the cache, because it may not be believed for now. */
  cachePassed = 0;
  fills = 0;
  fillsRefused = 0;
  fillsFailed = 0;
  refreshes = 0;
  storeReads = 0;
  nearReads = 0;

  constructor(options: LinkFinderOptions) {
    this.#options = options;
  }

  async find(code: string): Promise<Link | undefined> {
    const entry = await this.#recall(code);
    if (entry === undefined) return this.#loadOrRecall(code);
    if (this.#isDueForRefresh(entry)) this.#refresh(code);
    return entry.link;
  }

  /** Puts a link that was just made into the cache, for whoever wants its first visit to be quick. */
  keep(link: Link): void {
    this.#fill(link.code, link, false);
  }

  async #recall(code: string, isPatient = false): Promise<CacheEntry | undefined> {
    const { cache, trust, mayKeepAbsence } = this.#options;
    if (!trust.mayUse(code)) {
      this.cachePassed += 1;
      return undefined;
    }
    try {
      const entry = await cache.get(code, isPatient);
      // Asked again, because a change may have been heard of while the cache was answering.
      const isBelievable =
        entry !== undefined &&
        entry.filledAtMs >= trust.trustFromMs &&
        trust.mayUse(code) &&
        (entry.link !== undefined || mayKeepAbsence(code));
      if (isBelievable) this.cacheHits += 1;
      else this.cacheMisses += 1;
      return isBelievable ? entry : undefined;
    } catch {
      this.cacheFailures += 1;
      return undefined;
    }
  }

  /** Without the store the cache is asked once more: it may only have been slow, and busy machines are when stores fail. */
  async #loadOrRecall(code: string): Promise<Link | undefined> {
    try {
      return await this.#options.gate.through(() => this.#load(code, false));
    } catch (error) {
      const entry = await this.#recall(code, true);
      if (entry === undefined) throw error;
      return entry.link;
    }
  }

  async #load(code: string, isPopular: boolean): Promise<Link | undefined> {
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    const link = await this.#read(code);
    const tookMs = clock.monotonicMs() - startedMs;
    this.#loadMs += (tookMs - this.#loadMs) * loadWeight;
    if (tookMs < loadMaxMs) this.#fill(code, link, isPopular);
    return link;
  }

  async #read(code: string): Promise<Link | undefined> {
    const { store, trust } = this.#options;
    if (store.findNear !== undefined && !trust.isRecent(code)) {
      this.nearReads += 1;
      const near = await store.findNear(code);
      // A change heard of meanwhile may be one that the answer does not know yet.
      if (near !== undefined && !trust.isRecent(code)) return near;
    }
    this.storeReads += 1;
    return store.find(code);
  }

  /** Nobody waits for it, and it is done at once or not at all. */
  #fill(code: string, link: Link | undefined, isPopular: boolean): void {
    const { cache, trust, mayKeepAbsence, clock, random, lifetimes = cacheLifetimesDefault } = this.#options;
    if (!trust.mayUse(code) || (link === undefined ? !mayKeepAbsence(code) : link.maxClicks !== null)) return;
    const ttlMs = lifetimeOf({ link, isPopular, now: clock.now() }, lifetimes, random);
    cache.fill(code, link, ttlMs).then(
      isFilled => {
        if (isFilled) this.fills += 1;
        else this.fillsRefused += 1;
      },
      () => {
        this.fillsFailed += 1;
      },
    );
  }

  /** XFetch: the nearer the end, the likelier, so that of many processes about one refreshes what all of them use. */
  #isDueForRefresh({ filledAtMs, ttlMs }: CacheEntry): boolean {
    const { clock, random } = this.#options;
    const aheadMs = -Math.max(refreshFloorMs, this.#loadMs) * Math.log(random.float());
    return clock.now() + aheadMs >= filledAtMs + ttlMs;
  }

  #refresh(code: string): void {
    const { gate } = this.#options;
    if (!gate.isFree || this.#refreshing.has(code)) return;
    this.#refreshing.add(code);
    this.refreshes += 1;
    gate
      .through(() => this.#load(code, true))
      .catch(() => undefined)
      .finally(() => this.#refreshing.delete(code));
  }
}
