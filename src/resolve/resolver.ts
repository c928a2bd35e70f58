/**
 * From a code to its record: this process's memory first, then the shared cache and the store. Concurrent visitors of
 * one cold link share one read; codes that cannot exist cost none. An entry's lifetime counts from when it was read, or
 * from the last proof that nothing has changed since (freshness.ts). Hits never extend it, so a killed link cannot stay
 * alive by being popular. An expired entry is kept, and answers only while neither the cache nor the store can be
 * asked, for a limited time.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import type { ResolvedLink } from './decide.ts';
import type { Horizon } from './horizon.ts';
import { SieveCache } from './sieve.ts';

export interface ResolverOptions {
  readonly store: Pick<LinkStore, 'find'>;
  readonly horizon: Horizon;
  /** Whether other processes may have made changes that this one has not seen, and how to catch up. */
  readonly follower: { isBehind(): boolean; catchUp(): Promise<void> };
  /** Up to when everything in memory is known to be true. */
  readonly freshness: { readonly provenAtMs: number };
  readonly outage: OutageRules;
  readonly isFollowable: (longUrl: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly entriesMax: number;
  readonly ttlMs: number;
  readonly negativeTtlMs: number;
}

/** What to do while the store does not answer. */
export interface OutageRules {
  readonly isStoreFailing: () => boolean;
  /** Whether the shared cache can be asked about a code instead. */
  readonly mayAskCache: (code: string) => boolean;
  /** How long after the last proof an entry still answers when neither the cache nor the store can be asked. */
  readonly staleMaxMs: number;
  /** Writes a link into the shared cache again; false when it should be tried later. */
  readonly renew?: (link: Link) => boolean;
  readonly renewEveryMs?: number;
}

interface Entry {
  link: ResolvedLink | undefined;
  readonly readAtMs: number;
  readonly lifetimeMs: number;
  /** How long the read took; the slower, the earlier a refresh starts. */
  readonly loadMs: number;
  /** When a hit next renews the copy in the shared cache. */
  renewAtMs: number;
  /** The URL policy that judged the destination, and the life of the shared cache that has a copy. */
  policyEpoch: number;
  cacheEpoch: number;
}

interface Flight {
  readonly promise: Promise<ResolvedLink | undefined>;
  /** Set when the code changed after the read began: its result must not be used. */
  outdated: boolean;
}

type Resolution = ResolvedLink | undefined;

/** Distinct from undefined, which means that there is no such link. */
export const notInMemory = Symbol('not in memory');

/** TTLs vary by this share, so links cached together do not expire together. */
const jitterShare = 0.1;
const loadMsFloor = 1;
/** Beyond this many load times before the end, an early refresh has a chance below one in ten million. */
const refreshWindowLoads = 16;
const rereadsMax = 4;
const renewAgainAfterMs = 100;

export class Resolver {
  readonly #options: ResolverOptions;
  readonly #entries: SieveCache<Entry>;
  readonly #flights = new Map<string, Flight>();
  #policyEpoch = 0;
  #cacheEpoch = 0;
  hits = 0;
  misses = 0;
  /** 404s answered from the horizon, without I/O. */
  shortcuts = 0;
  storeReads = 0;
  /** Answers from entries past their lifetime. */
  staleAnswers = 0;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#entries = new SieveCache(options.entriesMax);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What memory knows, without I/O. A caller that has just read the monotonic clock passes its value. */
  recall(code: string, nowMs = this.#options.clock.monotonicMs()): Resolution | typeof notInMemory {
    const entry = this.#freshEntry(code, nowMs);
    if (entry?.link !== undefined) {
      this.hits += 1;
      if (this.#isDueForRefresh(entry, nowMs)) this.#refresh(code);
      if (entry.policyEpoch !== this.#policyEpoch) this.#judge(entry, entry.link);
      if (nowMs >= entry.renewAtMs || entry.cacheEpoch !== this.#cacheEpoch)
        this.#renew(entry, entry.link, nowMs);
      return entry.link;
    }
    const { outage } = this.#options;
    if (entry === undefined && outage.isStoreFailing() && !outage.mayAskCache(code)) {
      const stale = this.recallStale(code, nowMs);
      if (stale !== undefined) return stale;
    }
    const { horizon, follower } = this.#options;
    // Another process may have created the missing code since.
    if ((entry === undefined && horizon.judge(code) !== 'never issued') || follower.isBehind())
      return notInMemory;
    if (entry === undefined) this.shortcuts += 1;
    else this.hits += 1;
    return undefined;
  }

  /** Returns at once when memory knows; a promise means the store had to be asked. */
  resolve(code: string): Resolution | Promise<Resolution> {
    const known = this.recall(code);
    return known === notInMemory ? this.#ask(code) : known;
  }

  /** The fallback when a read has failed or would fail: what memory last knew, if that is recent enough. */
  recallStale(code: string, nowMs = this.#options.clock.monotonicMs()): ResolvedLink | undefined {
    const { outage, freshness } = this.#options;
    const entry = this.#entries.get(code);
    if (entry?.link === undefined) return undefined;
    const knownAtMs = Math.max(entry.readAtMs, freshness.provenAtMs);
    if (nowMs - knownAtMs >= outage.staleMaxMs) return undefined;
    if (entry.policyEpoch !== this.#policyEpoch) this.#judge(entry, entry.link);
    this.staleAnswers += 1;
    return entry.link;
  }

  /** The URL policy has changed: every destination is judged again at its next request. */
  judgeAgain(): void {
    this.#policyEpoch += 1;
  }

  /** The cache may have lost its copies: every entry is written to the shared cache again at its next request. */
  renewAll(): void {
    this.#cacheEpoch += 1;
  }

  /** Drops the entry in memory, and lets a read in flight continue: it is asking for the new record. */
  drop(code: string): void {
    this.#entries.delete(code);
  }

  /** The record changed: the cached entry and the result of a read in flight are invalid from now on. */
  invalidate(code: string): void {
    this.#entries.delete(code);
    const flight = this.#flights.get(code);
    if (flight === undefined) return;
    flight.outdated = true;
    this.#flights.delete(code);
  }

  flush(): void {
    this.#entries.clear();
    for (const flight of this.#flights.values()) flight.outdated = true;
    this.#flights.clear();
  }

  #freshEntry(code: string, nowMs: number): Entry | undefined {
    const entry = this.#entries.get(code);
    return entry === undefined || nowMs >= this.#staleAtMs(entry) ? undefined : entry;
  }

  #staleAtMs(entry: Entry): number {
    return Math.max(entry.readAtMs, this.#options.freshness.provenAtMs) + entry.lifetimeMs;
  }

  async #ask(code: string): Promise<Resolution> {
    const { horizon, follower, clock } = this.#options;
    // Memory says that it is missing, or would have answered.
    const isMissing = this.#freshEntry(code, clock.monotonicMs()) !== undefined;
    if (!isMissing && horizon.judge(code) !== 'never issued') return this.#read(code);
    // Catching up removes the entry, or moves the horizon, if the code was created in the meantime.
    await follower.catchUp();
    if (isMissing) {
      const entry = this.#entries.get(code);
      // It may be of another request, which has caught up before and read the new link.
      return entry === undefined ? this.#read(code) : entry.link;
    }
    if (horizon.judge(code) !== 'never issued') return this.#read(code);
    this.shortcuts += 1;
    return undefined;
  }

  async #read(code: string): Promise<Resolution> {
    this.misses += 1;
    for (let reread = 0; ; reread += 1) {
      const flight = this.#flights.get(code) ?? this.#takeOff(code);
      const link = await flight.promise;
      // Bounded, because someone may edit a link in a loop; the last read began after this request did.
      if (!flight.outdated || reread === rereadsMax) return link;
    }
  }

  #takeOff(code: string): Flight {
    const flight: Flight = { promise: this.#load(code, () => flight.outdated), outdated: false };
    this.#flights.set(code, flight);
    const land = (): void => {
      if (this.#flights.get(code) === flight) this.#flights.delete(code);
    };
    flight.promise.then(land, land);
    return flight;
  }

  async #load(code: string, isOutdated: () => boolean): Promise<Resolution> {
    const { store, clock, random, ttlMs, negativeTtlMs, horizon, isFollowable, outage } = this.#options;
    const policyEpoch = this.#policyEpoch;
    const cacheEpoch = this.#cacheEpoch;
    const startedMs = clock.monotonicMs();
    this.storeReads += 1;
    const found: Link | undefined = await store.find(code);
    const link: Resolution = found && {
      ...found,
      followable: isFollowable(found.longUrl),
      answer: undefined,
    };
    // A leased code may be issued at any moment without an announcement, so its absence is not remembered.
    if (isOutdated() || (link === undefined && horizon.judge(code) === 'leased')) return link;
    const endedMs = clock.monotonicMs();
    const lifetimeMs = (link === undefined ? negativeTtlMs : ttlMs) * (1 - jitterShare * random.float());
    const loadMs = Math.max(loadMsFloor, endedMs - startedMs);
    const renewAtMs = outage.renew === undefined ? Number.POSITIVE_INFINITY : endedMs + this.#renewAfterMs();
    const entry = { link, readAtMs: startedMs, lifetimeMs, loadMs, renewAtMs, policyEpoch, cacheEpoch };
    this.#entries.set(code, entry);
    return link;
  }

  #judge(entry: Entry, link: ResolvedLink): void {
    entry.policyEpoch = this.#policyEpoch;
    const followable = this.#options.isFollowable(link.longUrl);
    if (followable !== link.followable) entry.link = { ...link, followable, answer: undefined };
  }

  #renew(entry: Entry, link: ResolvedLink, nowMs: number): void {
    const isRenewed = this.#options.outage.renew?.(link) ?? true;
    entry.cacheEpoch = this.#cacheEpoch;
    entry.renewAtMs = nowMs + (isRenewed ? this.#renewAfterMs() : renewAgainAfterMs);
  }

  /** Jittered, so that links cached together are not renewed together. */
  #renewAfterMs(): number {
    const { random, outage } = this.#options;
    return (outage.renewEveryMs ?? 0) * (1 - random.float() / 2);
  }

  /**
   * XFetch: each hit may refresh early, with a probability that grows towards the end, so a hot link never goes cold.
   */
  #isDueForRefresh(entry: Entry, nowMs: number): boolean {
    const leftMs = this.#staleAtMs(entry) - nowMs;
    if (leftMs > entry.loadMs * refreshWindowLoads) return false;
    return -entry.loadMs * Math.log(this.#options.random.float()) >= leftMs;
  }

  #refresh(code: string): void {
    if (this.#flights.has(code)) return;
    // A failed refresh leaves the entry as it is; the next visitor after its end reads again and gets the error.
    this.#takeOff(code).promise.catch(() => undefined);
  }
}
