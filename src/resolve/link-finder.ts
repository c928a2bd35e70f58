/**
 * Where the resolver finds a record that its own memory does not have: the shared cache, then the store. The cache is
 * asked only where it can be trusted, with a very short timeout; without it everything goes to the store, a bounded
 * number of reads at a time. The store's answer is cached for other processes, after the caller is answered. A link
 * that is always in memory would never be read from the cache and would expire there, so its hits renew the copy.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { type Link, stateOf } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { type CacheEntry, fenced, fenceMsDefault, type LinkCache } from './cache.ts';
import type { CacheTrust } from './cache-trust.ts';
import type { ReadGate } from './read-gate.ts';

export interface LinkFinderOptions {
  readonly store: Pick<LinkStore, 'find' | 'findNear' | 'findNew'>;
  readonly cache: Pick<LinkCache, 'get' | 'fill'>;
  readonly trust: Pick<CacheTrust, 'mayUse' | 'isRecent' | 'noteChange' | 'trustFromMs'>;
  readonly gate: ReadGate;
  /** The cache says that the code changed a moment ago: the entry in memory is stale. */
  readonly onFenced: (code: string) => void;
  /** Reads all changes up to now from the store's feed. */
  readonly catchUp: () => Promise<void>;
  /** False for a code that may be issued at any moment without an announcement: its absence must not be cached. */
  readonly mayKeepAbsence: (code: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly lifetimes?: CacheLifetimes;
}

/** A read that took longer is not cached: the fence that should have stopped it may have expired. */
const loadMaxMs = fenceMsDefault / 2;
/**
 * An early refresh assumes at least this much time. A link that is in memory is read here about once per lifetime
 * there, so less would nearly always come too late.
 */
const refreshFloorMs = 1_000;
const loadWeight = 1 / 8;
/** Copies renewed per second at most, so that an emptied cache is refilled without a burst. */
const renewalsPerSMax = 1_000;

export class LinkFinder {
  readonly #options: LinkFinderOptions;
  readonly #refreshing = new Set<string>();
  /** The recent duration of store reads. */
  #loadMs = 0;
  cacheHits = 0;
  cacheMisses = 0;
  /** Without an answer from the cache. */
  cacheFailures = 0;
  /** Not looked up in the cache, because it is not trusted at the moment. */
  cachePassed = 0;
  fills = 0;
  fillsRefused = 0;
  fillsFailed = 0;
  refreshes = 0;
  renewals = 0;
  #renewalSecond = 0;
  #renewalsInSecond = 0;
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

  /** Puts a newly created link into the cache, for callers that want its first visit to be fast. */
  keep(link: Link): void {
    this.#fill(link.code, link, false);
  }

  /**
   * Writes a link that memory knows to be true to the cache again. False when it should be tried later: the rate limit
   * is reached, or the cache must not be used. A change that memory does not know of yet has left a fence, or a newer
   * version, which the cache prefers.
   */
  renew(link: Link): boolean {
    const second = Math.floor(this.#options.clock.monotonicMs() / 1_000);
    if (second !== this.#renewalSecond) {
      this.#renewalSecond = second;
      this.#renewalsInSecond = 0;
    }
    if (this.#renewalsInSecond >= renewalsPerSMax) return false;
    if (link.maxClicks !== null) return true;
    if (!this.#options.trust.mayUse(link.code)) return false;
    this.#renewalsInSecond += 1;
    this.renewals += 1;
    this.#fill(link.code, link, false);
    return true;
  }

  async #recall(code: string, isPatient = false): Promise<CacheEntry | undefined> {
    const { cache, trust, gate, catchUp, mayKeepAbsence, onFenced } = this.#options;
    if (!trust.mayUse(code)) {
      this.cachePassed += 1;
      return undefined;
    }
    try {
      const entry = await cache.get(code, isPatient || gate.isFailing);
      if (entry === fenced) {
        // Its message was lost, or is still in flight.
        trust.noteChange(code);
        onFenced(code);
        this.cacheMisses += 1;
        return undefined;
      }
      // The process that created the link meanwhile may not have reached the cache: a 404 has to be exact.
      if (entry !== undefined && entry.link === undefined) await catchUp();
      // Checked again, because a change may have arrived while the cache was answering.
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

  /**
   * Without the store the cache is asked again: it may only have been slow, and machines are busy when stores fail. A
   * link that was just made may be known as well, also while too many reads wait for the store.
   */
  async #loadOrRecall(code: string): Promise<Link | undefined> {
    const { gate, store } = this.#options;
    try {
      return await gate.through(() => this.#load(code, false));
    } catch (error) {
      const entry = await this.#recall(code, true);
      if (entry !== undefined) return entry.link;
      const fresh = await store.findNew?.(code).catch(() => undefined);
      if (fresh === undefined) throw error;
      return fresh;
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
      // The answer may not include a change that arrived in the meantime.
      if (near !== undefined && !trust.isRecent(code)) return near;
    }
    this.storeReads += 1;
    return store.find(code);
  }

  /** Not awaited by any caller; done at once or not at all. */
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

  /** XFetch: the probability grows towards the end, so that about one of many processes refreshes a shared entry. */
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

/**
 * How long the shared cache keeps an entry, by its kind. Lifetimes have a small jitter around the configured value, so
 * that links cached together do not expire together.
 */
export interface CacheLifetimes {
  /** A link of none of the other kinds. */
  readonly usualMs: number;
  /** Made within the last day. */
  readonly newMs: number;
  /** Still requested when its time was nearly over. */
  readonly popularMs: number;
  readonly customMs: number;
  /** Expired, disabled, blocked or deleted: a link that answers 410. */
  readonly expiredMs: number;
  /** Link not found. */
  readonly negativeMs: number;
}

const dayMs = 86_400_000;
const jitterShare = 0.1;

const cacheLifetimesDefault: CacheLifetimes = {
  usualMs: dayMs,
  newMs: dayMs,
  popularMs: dayMs,
  customMs: dayMs,
  expiredMs: 3_600_000,
  negativeMs: 30_000,
};

export interface LifetimeSubject {
  readonly link: Link | undefined;
  readonly isPopular: boolean;
  readonly now: number;
}

export function lifetimeOf(subject: LifetimeSubject, lifetimes: CacheLifetimes, random: Random): number {
  return lifetimes[`${kindOf(subject)}Ms`] * (1 - jitterShare + 2 * jitterShare * random.float());
}

function kindOf({ link, isPopular, now }: LifetimeSubject) {
  if (link === undefined) return 'negative';
  const state = stateOf(link, now);
  if (state !== 'active' && state !== 'quarantined') return 'expired';
  if (isPopular) return 'popular';
  if (link.origin === 'custom') return 'custom';
  return now - link.createdAt < dayMs ? 'new' : 'usual';
}
