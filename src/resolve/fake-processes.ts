/**
 * Several processes of Terse in one test: each with its own memory and its own view of a shared cache, all on one store
 * and one clock that is moved by hand unless another one is given.
 */
import { type Clock, ManualClock, yieldToEventLoop } from '../base/clock.ts';
import { type Random, seededRandom } from '../base/random.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { insertItem, sampleLink } from '../links/store-samples.ts';
import { createMemoryStore } from '../links/stores/memory.ts';
import type { LinkCache } from './cache.ts';
import { CacheTrust } from './cache-trust.ts';
import { FaultyCache } from './caches/fake-faulty-cache.ts';
import { MemoryCacheContents } from './caches/fake-memory.ts';
import { Freshness } from './freshness.ts';
import { Horizon } from './horizon.ts';
import { Invalidation } from './invalidation.ts';
import { LinkFinder } from './link-finder.ts';
import { ReadGate, type ReadGateOptions } from './read-gate.ts';
import { Resolver } from './resolver.ts';
import { StoreHealth } from './store-health.ts';

export interface WorldOptions {
  readonly clock?: Clock;
  readonly gate?: Omit<ReadGateOptions, 'clock'>;
  readonly owedMax?: number;
  readonly staleMaxMs?: number;
  readonly random?: Random;
}

/** Runs everything that does not wait for a timer. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 3; turn += 1) await yieldToEventLoop();
}

export class World {
  readonly manualClock = new ManualClock();
  readonly clock: Clock;
  readonly contents = new MemoryCacheContents();
  readonly store: LinkStore;
  readonly options: WorldOptions;
  readonly random: Random;
  readonly reads: string[] = [];
  readonly #memory: LinkStore;
  readonly #gates = new Map<string, Promise<void>>();
  isStoreDown = false;
  /** The answer of the replica, if there is one. */
  near: ((code: string) => Promise<Link | undefined>) | undefined;
  /** Links that are known without the store. */
  readonly newLinks = new Map<string, Link>();

  constructor(options: WorldOptions = {}) {
    this.options = options;
    this.clock = options.clock ?? this.manualClock;
    this.random = options.random ?? seededRandom(7);
    this.#memory = createMemoryStore();
    const mustBeThere = (): void => {
      if (this.isStoreDown) throw new Error('the store is down');
    };
    this.store = {
      ...this.#memory,
      find: async code => {
        mustBeThere();
        this.reads.push(code);
        const found = await this.#memory.find(code);
        await this.#gates.get(code);
        return found;
      },
      changes: async (afterSeq, limit) => {
        mustBeThere();
        return this.#memory.changes(afterSeq, limit);
      },
    };
  }

  /**
   * Reads of the code that start from now on take their value at once, but return it only after the returned function
   * is called.
   */
  hold(code: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#gates.set(code, promise);
    return () => {
      this.#gates.delete(code);
      resolve();
    };
  }

  async create(code: string, overrides: Partial<Link> = {}): Promise<void> {
    const link = sampleLink(code, { origin: 'custom', longUrl: versionUrl(1), ...overrides });
    await this.#memory.insert([insertItem(link)]);
  }

  /** Makes the next version of a link, in the store alone. */
  async change(code: string, overrides: Partial<Link> = {}): Promise<number> {
    const link = (await this.#memory.find(code))!;
    const version = link.version + 1;
    await this.#memory.replace({ ...link, longUrl: versionUrl(version), ...overrides, version });
    return version;
  }

  start(): Promise<FakeProcess<FaultyCache>> {
    return this.startWith(new FaultyCache(this.clock, this.contents));
  }

  async startWith<Cache extends LinkCache>(cache: Cache): Promise<FakeProcess<Cache>> {
    const started = new FakeProcess(this, cache);
    await started.start();
    return started;
  }

  /** Advances the clock, and runs each timer when it is due. */
  async pass(byMs: number): Promise<void> {
    const stepMs = byMs > 20_000 ? 1_000 : 200;
    for (let leftMs = byMs; leftMs > 0; leftMs -= stepMs) {
      this.manualClock.advance(Math.min(leftMs, stepMs));
      await settle();
    }
  }

  snapshot(): MemoryCacheContents {
    const copy = new MemoryCacheContents();
    for (const [code, entry] of this.contents.entries) copy.entries.set(code, entry);
    copy.checkpoint = this.contents.checkpoint;
    return copy;
  }

  /** Restores the cache to its contents at that time. */
  restore(snapshot: MemoryCacheContents): void {
    this.contents.entries.clear();
    for (const [code, entry] of snapshot.entries) this.contents.entries.set(code, entry);
    this.contents.checkpoint = snapshot.checkpoint;
  }
}

export const versionUrl = (version: number): string => `https://v${version}.example/`;

export class FakeProcess<Cache extends LinkCache = FaultyCache> {
  readonly cache: Cache;
  readonly gate: ReadGate;
  readonly trust: CacheTrust;
  readonly finder: LinkFinder;
  readonly invalidation: Invalidation;
  readonly resolver: Resolver;
  readonly health: StoreHealth;
  readonly freshness: Freshness;
  readonly #world: World;
  readonly #store: LinkStore;
  readonly #stops: (() => void)[] = [];
  #seq = 0;
  readonly accountChanges: string[] = [];
  isDead = false;
  /** Whether this process alone does not reach the store. */
  isStoreCut = false;

  constructor(world: World, cache: Cache) {
    const { clock, random, options, store } = world;
    this.#world = world;
    this.cache = cache;
    this.health = new StoreHealth(clock);
    this.freshness = new Freshness(clock);
    this.gate = new ReadGate({ clock, isFailing: () => this.health.isFailing, ...options.gate });
    const owedMax = options.owedMax === undefined ? {} : { owedMax: options.owedMax };
    const reached = async <T>(ask: () => Promise<T>): Promise<T> => {
      if (this.isStoreCut) throw new Error('the store is down');
      return ask();
    };
    this.#store = this.health.watched({
      ...store,
      find: code => reached(() => store.find(code)),
      changes: (seq, limit) => reached(() => store.changes(seq, limit)),
    });
    this.trust = new CacheTrust({
      cache: this.cache,
      feed: this.#store,
      clock,
      onTrusted: () => this.resolver.renewAll(),
      ...owedMax,
    });
    this.finder = new LinkFinder({
      store: {
        find: this.#store.find,
        ...(world.near === undefined ? {} : { findNear: world.near }),
        findNew: async code => world.newLinks.get(code),
      },
      cache: this.cache,
      trust: this.trust,
      gate: this.gate,
      onFenced: code => this.resolver.drop(code),
      catchUp: () => this.poll(),
      mayKeepAbsence: code => !code.startsWith('leased'),
      clock,
      random,
    });
    this.invalidation = new Invalidation({
      cache: this.cache,
      trust: this.trust,
      clock,
      random,
      freshness: this.freshness,
      forget: code => this.resolver.invalidate(code),
      onAccountChange: change => this.accountChanges.push(change),
      onMissed: () => void this.poll().catch(() => undefined),
    });
    this.resolver = new Resolver({
      store: this.finder,
      horizon: new Horizon(() => undefined),
      follower: this,
      freshness: this.freshness,
      outage: {
        isStoreFailing: () => this.health.isFailing,
        mayAskCache: code => this.cache.isAvailableFor(code) && this.trust.mayUse(code),
        staleMaxMs: options.staleMaxMs ?? 0,
        renew: link => this.finder.renew(link),
        renewEveryMs: 30_000,
      },
      isFollowable: () => true,
      clock,
      random,
      entriesMax: 1_000,
      bytesMax: 1024 * 1024,
      ttlMs: 2_000,
      negativeTtlMs: 2_000,
    });
  }

  async start(): Promise<void> {
    const { store, clock } = this.#world;
    this.#seq = (await store.changes(Number.MAX_SAFE_INTEGER, 1)).resumeSeq;
    this.health.start();
    this.#stops.push(() => this.health.stop());
    this.invalidation.start();
    await this.trust.start();
    this.#stops.push(clock.every(1_000, () => void this.poll().catch(() => undefined)));
  }

  /** Like `kill -9`: its memory is lost, and with it the fences that it owed. */
  die(): void {
    this.isDead = true;
    if (this.cache instanceof FaultyCache) this.cache.isDown = true;
    this.trust.stop();
    // A dead process publishes nothing: its cache is cut off.
    void this.invalidation.stop();
    for (const stop of this.#stops) stop();
  }

  isBehind(): boolean {
    return false;
  }

  async catchUp(): Promise<void> {}

  async poll(): Promise<void> {
    const startedMs = this.#world.clock.monotonicMs();
    const page = await this.#store.changes(this.#seq, 1_000);
    if (this.isDead) return;
    if (page.gap) {
      this.resolver.flush();
      this.trust.distrust();
    }
    for (const { code } of page.changes) this.invalidation.heard(code);
    this.#seq = page.resumeSeq;
    this.freshness.proveByFeed(startedMs);
    this.trust.reached(page.resumeSeq);
  }

  /** Changes a link and announces the change, as the API does. */
  async change(code: string, overrides: Partial<Link> = {}): Promise<number> {
    const version = await this.#world.change(code, overrides);
    await this.invalidation.announce([code]);
    return version;
  }

  /** The version that a visitor is sent to; zero where there is none. */
  async visit(code: string): Promise<number> {
    try {
      return (await this.resolver.resolve(code))?.version ?? 0;
    } catch (error) {
      const stale = this.resolver.recallStale(code);
      if (stale === undefined) throw error;
      return stale.version;
    }
  }

  /** Like `visit`, but without this process's own memory. */
  async look(code: string): Promise<number> {
    return (await this.finder.find(code))?.version ?? 0;
  }
}
