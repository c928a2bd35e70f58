/**
 * From a code to its record: this process's memory first, then the store. Concurrent visitors of one cold link
 * share one read; codes that cannot exist cost none. An entry's lifetime is counted from when it was read, or from
 * when the store last proved that nothing has changed since; it is never stretched by hits, so a killed link cannot
 * live on by being popular.
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
  /** Whether other processes may have changed something we have not seen, and how to see it. */
  readonly follower: { isBehind(): boolean; catchUp(): Promise<void>; readonly provenAtMs: number };
  readonly isFollowable: (longUrl: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly entriesMax: number;
  readonly ttlMs: number;
  readonly negativeTtlMs: number;
}

interface Entry {
  readonly link: ResolvedLink | undefined;
  readonly readAtMs: number;
  readonly lifetimeMs: number;
  /** How long the read took; the slower, the earlier a refresh starts. */
  readonly loadMs: number;
}

interface Flight {
  readonly promise: Promise<ResolvedLink | undefined>;
  /** Set when the code changed after the read began: its result must not be used. */
  outdated: boolean;
}

type Resolution = ResolvedLink | undefined;

/** Told apart from undefined, which says that there is no such link. */
export const notInMemory = Symbol('not in memory');

/** TTLs vary by this share, so links cached together do not expire together. */
const jitterShare = 0.1;
const loadMsFloor = 1;
/** Beyond this many load times before the end, an early refresh has a chance below one in ten million. */
const refreshWindowLoads = 16;
const rereadsMax = 4;

export class Resolver {
  readonly #options: ResolverOptions;
  readonly #entries: SieveCache<Entry>;
  readonly #flights = new Map<string, Flight>();
  hits = 0;
  misses = 0;
  /** 404s answered from the horizon, without I/O. */
  shortcuts = 0;
  storeReads = 0;

  constructor(options: ResolverOptions) {
    this.#options = options;
    this.#entries = new SieveCache(options.entriesMax);
  }

  get size(): number {
    return this.#entries.size;
  }

  /** What memory knows, without asking anyone. Who has just looked at the monotonic clock says what it showed. */
  recall(code: string, nowMs = this.#options.clock.monotonicMs()): Resolution | typeof notInMemory {
    const entry = this.#freshEntry(code, nowMs);
    if (entry?.link !== undefined) {
      this.hits += 1;
      if (this.#isDueForRefresh(entry, nowMs)) this.#refresh(code);
      return entry.link;
    }
    const { horizon, follower } = this.#options;
    // That a code is missing may have ceased to be true in another process.
    if ((entry === undefined && horizon.judge(code) !== 'never issued') || follower.isBehind())
      return notInMemory;
    if (entry === undefined) this.shortcuts += 1;
    else this.hits += 1;
    return undefined;
  }

  /** Answers at once when memory knows; a promise means the store had to be asked. */
  resolve(code: string): Resolution | Promise<Resolution> {
    const known = this.recall(code);
    return known === notInMemory ? this.#ask(code) : known;
  }

  /** The record changed: what is cached, or being read, is worth nothing from now on. */
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
    return Math.max(entry.readAtMs, this.#options.follower.provenAtMs) + entry.lifetimeMs;
  }

  async #ask(code: string): Promise<Resolution> {
    const { horizon, follower, clock } = this.#options;
    // Memory says that it is missing, or would have answered.
    const isMissing = this.#freshEntry(code, clock.monotonicMs()) !== undefined;
    if (!isMissing && horizon.judge(code) !== 'never issued') return this.#read(code);
    // Catching up removes the entry, or moves the horizon, if the code was created meanwhile.
    await follower.catchUp();
    if (isMissing) return this.#entries.get(code) === undefined ? this.#read(code) : undefined;
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
    const { store, clock, random, ttlMs, negativeTtlMs, horizon, isFollowable } = this.#options;
    const startedMs = clock.monotonicMs();
    this.storeReads += 1;
    const found: Link | undefined = await store.find(code);
    const link: Resolution = found && {
      ...found,
      followable: isFollowable(found.longUrl),
      answer: undefined,
    };
    // A leased code may be issued at any moment without a word, so its absence is not remembered.
    if (isOutdated() || (link === undefined && horizon.judge(code) === 'leased')) return link;
    const endedMs = clock.monotonicMs();
    const lifetimeMs = (link === undefined ? negativeTtlMs : ttlMs) * (1 - jitterShare * random.float());
    const loadMs = Math.max(loadMsFloor, endedMs - startedMs);
    this.#entries.set(code, { link, readAtMs: endedMs, lifetimeMs, loadMs });
    return link;
  }

  /** XFetch: each hit refreshes early with a chance that grows towards the end, so a hot link never goes cold. */
  #isDueForRefresh(entry: Entry, nowMs: number): boolean {
    const leftMs = this.#staleAtMs(entry) - nowMs;
    if (leftMs > entry.loadMs * refreshWindowLoads) return false;
    return -entry.loadMs * Math.log(this.#options.random.float()) >= leftMs;
  }

  #refresh(code: string): void {
    if (this.#flights.has(code)) return;
    // A failed refresh leaves the entry as it is; the next visitor after its end reads again and hears why.
    this.#takeOff(code).promise.catch(() => undefined);
  }
}
