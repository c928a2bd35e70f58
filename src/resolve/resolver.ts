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
import { isPlain, type ResolvedLink } from './decide.ts';
import type { Horizon } from './horizon.ts';
import { LinkMemory } from './link-memory.ts';

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
  /** Bounds of the memory. */
  readonly entriesMax: number;
  readonly bytesMax: number;
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

interface Flight {
  promise: Promise<ResolvedLink | undefined> | undefined;
  /** Set when the code changed after the read began: its result must not be used. */
  outdated: boolean;
}

type PlainFields =
  | 'redirectType'
  | 'longUrl'
  | 'urlLength'
  | 'copyUrl'
  | 'link'
  | 'clickNumber'
  | 'clickNumbering'
  | 'setClickNumber';

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
  readonly #memory: LinkMemory;
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
    const { entriesMax, bytesMax, random } = options;
    this.#memory = new LinkMemory({ entriesMax, bytesMax, seed: Math.floor(random.float() * 2 ** 32) });
  }

  get size(): number {
    return this.#memory.size;
  }

  /** Bytes that the memory has taken from the system. */
  get bytes(): number {
    return this.#memory.bytes;
  }

  /** The fields of an entry that `plainEntry` has returned. */
  get memory(): Pick<LinkMemory, PlainFields> {
    return this.#memory;
  }

  /**
   * The entry of a link in memory that redirects every visitor, or 0 when `recall` has to be asked: it also knows what
   * to do at some hits, such as an early refresh. The entry is valid until anything else happens.
   */
  plainEntry(code: string, nowMs: number): number {
    return this.#plain(this.#memory.find(code), nowMs);
  }

  /** The same for a code that stands in `bytes`. */
  plainEntryAt(bytes: Uint8Array, from: number, to: number, nowMs: number): number {
    return this.#plain(this.#memory.findBytes(bytes, from, to), nowMs);
  }

  /** What memory knows, without I/O. A caller that has just read the monotonic clock passes its value. */
  recall(code: string, nowMs = this.#options.clock.monotonicMs()): Resolution | typeof notInMemory {
    const entry = this.#freshEntry(code, nowMs);
    const link = entry === 0 ? undefined : this.#judgedLink(entry);
    if (link !== undefined) {
      this.hits += 1;
      if (this.#isDueForRenewal(entry, nowMs)) this.#renew(entry, link, nowMs);
      if (this.#isDueForRefresh(entry, nowMs)) this.#refresh(code);
      return link;
    }
    const { outage } = this.#options;
    if (entry === 0 && outage.isStoreFailing() && !outage.mayAskCache(code)) {
      const stale = this.recallStale(code, nowMs);
      if (stale !== undefined) return stale;
    }
    const { horizon, follower } = this.#options;
    // Another process may have created the missing code since.
    if ((entry === 0 && horizon.judge(code) !== 'never issued') || follower.isBehind()) return notInMemory;
    if (entry === 0) this.shortcuts += 1;
    else this.hits += 1;
    return undefined;
  }

  /** Returns at once when memory knows; a promise means the store had to be asked. */
  resolve(code: string): Resolution | Promise<Resolution> {
    const known = this.recall(code);
    return known === notInMemory ? this.ask(code) : known;
  }

  /** For a caller to whom `recall` has just said that the code is not in memory. */
  ask(code: string): Promise<Resolution> {
    // Memory says that it is missing, or would have answered.
    const isMissing = this.#freshEntry(code, this.#options.clock.monotonicMs()) !== 0;
    if (isMissing || this.#options.horizon.judge(code) === 'never issued')
      return this.#askCaughtUp(code, isMissing);
    return this.#read(code);
  }

  /** The fallback when a read has failed or would fail: what memory last knew, if that is recent enough. */
  recallStale(code: string, nowMs = this.#options.clock.monotonicMs()): ResolvedLink | undefined {
    const { outage, freshness } = this.#options;
    const entry = this.#visitedEntry(code);
    if (entry === 0 || !this.#memory.hasLink(entry)) return undefined;
    const knownAtMs = Math.max(this.#memory.readAtMs(entry), freshness.provenAtMs);
    if (nowMs - knownAtMs >= outage.staleMaxMs) return undefined;
    this.staleAnswers += 1;
    return this.#judgedLink(entry);
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
    this.#memory.delete(code);
  }

  /** The record changed: the cached entry and the result of a read in flight are invalid from now on. */
  invalidate(code: string): void {
    this.#memory.delete(code);
    const flight = this.#flights.get(code);
    if (flight === undefined) return;
    flight.outdated = true;
    this.#flights.delete(code);
  }

  flush(): void {
    this.#memory.clear();
    for (const flight of this.#flights.values()) flight.outdated = true;
    this.#flights.clear();
  }

  #plain(entry: number, nowMs: number): number {
    const memory = this.#memory;
    if (entry === 0 || !memory.isPlain(entry) || memory.policyEpoch(entry) !== this.#policyEpoch) return 0;
    if (this.#isNearEnd(entry, nowMs) || this.#isDueForRenewal(entry, nowMs)) return 0;
    memory.visit(entry);
    this.hits += 1;
    return entry;
  }

  #visitedEntry(code: string): number {
    const entry = this.#memory.find(code);
    if (entry !== 0) this.#memory.visit(entry);
    return entry;
  }

  #freshEntry(code: string, nowMs: number): number {
    const entry = this.#visitedEntry(code);
    return entry === 0 || nowMs >= this.#staleAtMs(entry) ? 0 : entry;
  }

  #staleAtMs(entry: number): number {
    const knownAtMs = Math.max(this.#memory.readAtMs(entry), this.#options.freshness.provenAtMs);
    return knownAtMs + this.#memory.lifetimeMs(entry);
  }

  async #askCaughtUp(code: string, isMissing: boolean): Promise<Resolution> {
    const { horizon, follower } = this.#options;
    // Catching up removes the entry, or moves the horizon, if the code was created in the meantime.
    await follower.catchUp();
    if (isMissing) {
      const entry = this.#visitedEntry(code);
      // It may be of another request, which has caught up before and read the new link.
      return entry === 0 ? this.#read(code) : this.#judgedLink(entry);
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
    const flight: Flight = { promise: undefined, outdated: false };
    this.#flights.set(code, flight);
    flight.promise = this.#load(code, flight);
    // Not before the read's promise has settled: until then a change still makes it outdated.
    const land = (): void => {
      if (this.#flights.get(code) === flight) this.#flights.delete(code);
    };
    flight.promise.then(land, land);
    return flight;
  }

  async #load(code: string, flight: Flight): Promise<Resolution> {
    const { store, clock, random, ttlMs, negativeTtlMs, horizon, isFollowable, outage } = this.#options;
    const policyEpoch = this.#policyEpoch;
    const cacheEpoch = this.#cacheEpoch;
    const startedMs = clock.monotonicMs();
    this.storeReads += 1;
    const found: Link | undefined = await store.find(code);
    const link = found && resolved(found, isFollowable(found.longUrl));
    // A leased code may be issued at any moment without an announcement, so its absence is not remembered.
    if (flight.outdated || (link === undefined && horizon.judge(code) === 'leased')) return link;
    const endedMs = clock.monotonicMs();
    const lifetimeMs = (link === undefined ? negativeTtlMs : ttlMs) * (1 - jitterShare * random.float());
    const loadMs = Math.max(loadMsFloor, endedMs - startedMs);
    const renewAtMs = outage.renew === undefined ? Number.POSITIVE_INFINITY : endedMs + this.#renewAfterMs();
    this.#memory.keep(code, link, {
      readAtMs: startedMs,
      lifetimeMs,
      loadMs,
      renewAtMs,
      policyEpoch,
      cacheEpoch,
      isFollowable: link?.followable ?? false,
      isPlain: link !== undefined && isPlain(link),
    });
    return link;
  }

  /** The link of an entry, judged by the URL policy of now; undefined where there is none. */
  #judgedLink(entry: number): ResolvedLink | undefined {
    const found = this.#memory.link(entry);
    if (found === undefined) return undefined;
    if (this.#memory.policyEpoch(entry) === this.#policyEpoch)
      return resolved(found, this.#memory.isFollowable(entry));
    const link = resolved(found, this.#options.isFollowable(found.longUrl));
    this.#memory.judged(entry, this.#policyEpoch, link.followable, isPlain(link));
    return link;
  }

  #isDueForRenewal(entry: number, nowMs: number): boolean {
    return nowMs >= this.#memory.renewAtMs(entry) || this.#memory.cacheEpoch(entry) !== this.#cacheEpoch;
  }

  #renew(entry: number, link: ResolvedLink, nowMs: number): void {
    const isRenewed = this.#options.outage.renew?.(link) ?? true;
    const afterMs = isRenewed ? this.#renewAfterMs() : renewAgainAfterMs;
    this.#memory.renewed(entry, this.#cacheEpoch, nowMs + afterMs);
  }

  /** Jittered, so that links cached together are not renewed together. */
  #renewAfterMs(): number {
    const { random, outage } = this.#options;
    return (outage.renewEveryMs ?? 0) * (1 - random.float() / 2);
  }

  /**
   * XFetch: each hit may refresh early, with a probability that grows towards the end, so a hot link never goes cold.
   */
  #isDueForRefresh(entry: number, nowMs: number): boolean {
    if (!this.#isNearEnd(entry, nowMs)) return false;
    const leftMs = this.#staleAtMs(entry) - nowMs;
    return -this.#memory.loadMs(entry) * Math.log(this.#options.random.float()) >= leftMs;
  }

  /** Whether an early refresh has a chance, or the end has come. */
  #isNearEnd(entry: number, nowMs: number): boolean {
    return this.#staleAtMs(entry) - nowMs <= this.#memory.loadMs(entry) * refreshWindowLoads;
  }

  #refresh(code: string): void {
    if (this.#flights.has(code)) return;
    // A failed refresh leaves the entry as it is; the next visitor after its end reads again and gets the error.
    this.#takeOff(code).promise!.catch(() => undefined);
  }
}

/** What is stored about a link, and whether its destination may be followed today. */
const resolved = (link: Link, followable: boolean): ResolvedLink => ({ ...link, followable });
