/**
 * The way from a code to its link: memory, the shared cache where there is one, the store; and the follower that keeps
 * all of them true.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import type { Redis } from '../engines/redis/redis.ts';
import type { Announce } from '../links/announcing-store.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import type { Metric } from '../ops/metrics.ts';
import type { CacheLifetimes } from '../resolve/cache-lifetime.ts';
import { CacheTrust } from '../resolve/cache-trust.ts';
import { createNoCache } from '../resolve/caches/none.ts';
import { createRedisCache } from '../resolve/caches/redis/cache.ts';
import { ChangeFollower } from '../resolve/change-follower.ts';
import { Horizon } from '../resolve/horizon.ts';
import { Invalidation } from '../resolve/invalidation.ts';
import { LinkFinder } from '../resolve/link-finder.ts';
import { ReadGate } from '../resolve/read-gate.ts';
import { Resolver } from '../resolve/resolver.ts';
import type { Config } from './config.ts';
import type { Codes } from './generators.ts';
import { sharedCacheMetrics } from './shared-cache-metrics.ts';

export interface ResolvingOptions {
  readonly config: Config;
  readonly store: LinkStore;
  /** Undefined where processes share no cache. */
  readonly redis: Redis | undefined;
  readonly codes: Codes;
  readonly isFollowable: (longUrl: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
}

export interface Resolving {
  readonly resolver: Resolver;
  /** The records changed: after this no process serves what they were, for longer than messages travel. */
  readonly announce: Announce;
  /** Puts a link that was just made where its first visitor finds it, if the settings want that. */
  readonly keep: (link: Link) => void;
  /** How long ago the store last proved that it answers. */
  storeSilentMs(): number;
  metrics(): Metric[];
  stop(): void;
}

/** How often the store is asked for changes: cheaply where it is a file, and seldom where messages are quicker. */
const pollMs = { embedded: 20, alone: 50, besideMessages: 1_000 } as const;

export async function startResolving(options: ResolvingOptions): Promise<Resolving> {
  const { config, store, redis, codes, isFollowable, clock, random, onError } = options;
  const isEmbedded = store.changeToken !== undefined;
  // Codes of other strategies are not leased: the mark says nothing about them.
  const leasesCodes = config.codeStrategy === 'range';
  const horizon = new Horizon(leasesCodes ? codes.space.decode : () => undefined);
  const cache = redis === undefined ? createNoCache() : createRedisCache(redis);
  const trust = new CacheTrust({ cache, feed: store, clock });
  const gate = new ReadGate({ clock });
  const finder = new LinkFinder({
    store,
    cache,
    trust,
    gate,
    mayKeepAbsence: code => horizon.judge(code) !== 'leased',
    clock,
    random,
    lifetimes: lifetimesOf(config),
  });
  const invalidation = new Invalidation({
    cache,
    trust,
    clock,
    forget: code => resolver.invalidate(code),
    random,
  });
  const isShared = redis !== undefined;
  // Reading a file is quicker than asking who may, and a file is never behind itself as a replica is.
  const isDirect = isEmbedded && !isShared;
  // A link that only waits to be stored would otherwise be asked for at the store, in vain.
  const keepsNewLinks = config.cacheWriteThrough || config.writes === 'queued';
  const follower = new ChangeFollower({
    store,
    clock,
    horizon,
    codeLength: leasesCodes ? config.codeLength : undefined,
    pollMs: isShared ? pollMs.besideMessages : isEmbedded ? pollMs.embedded : pollMs.alone,
    onChange: code => (isDirect ? resolver.invalidate(code) : invalidation.heard(code)),
    onReached: seq => {
      if (!isDirect) trust.reached(seq);
    },
    onGap() {
      resolver.flush();
      if (!isDirect) trust.distrust();
    },
    onSilence: () => resolver.flush(),
    onError,
  });
  const resolver: Resolver = new Resolver({
    store: isDirect ? store : finder,
    horizon,
    follower,
    isFollowable,
    clock,
    random,
    entriesMax: config.l1Entries,
    ttlMs: config.l1TtlMs,
    negativeTtlMs: config.negativeTtlMs,
  });
  await follower.start();
  const followedMs = clock.monotonicMs();
  if (!isDirect) {
    invalidation.start();
    // A cache that is away at the start is asked again until it is there.
    await trust.start();
  }
  return {
    resolver,
    announce: codes =>
      isDirect ? codes.forEach(code => void resolver.invalidate(code)) : invalidation.announce(codes),
    keep: link => {
      if (isShared && keepsNewLinks) finder.keep(link);
    },
    // To begin to follow it, it had to answer.
    storeSilentMs: () => clock.monotonicMs() - Math.max(followedMs, follower.provenAtMs),
    metrics: () => sharedCacheMetrics({ finder, gate, trust, invalidation, isShared }),
    stop() {
      follower.stop();
      trust.stop();
    },
  };
}

function lifetimesOf(config: Config): CacheLifetimes {
  return {
    usualMs: config.cacheTtlS * 1_000,
    newMs: config.cacheNewTtlS * 1_000,
    popularMs: config.cachePopularTtlS * 1_000,
    customMs: config.cacheAliasTtlS * 1_000,
    expiredMs: config.cacheGoneTtlS * 1_000,
    negativeMs: config.cacheNegativeTtlS * 1_000,
  };
}
