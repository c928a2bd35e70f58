/**
 * Resolves a code to its link: from memory, the shared cache if there is one, or the store. The follower keeps all of
 * them current.
 */
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { parseRegion } from '../codes/id-share.ts';
import type { Codes } from '../codes/start.ts';
import type { Config } from '../config/config.ts';
import type { Announce } from '../links/announcing-store.ts';
import type { Link } from '../links/link.ts';
import type { LinkStore } from '../links/store.ts';
import { byLabel, oneValue } from '../telemetry/metric-table.ts';
import type { Metric } from '../telemetry/metrics.ts';
import type { LinkCache } from './cache.ts';
import { CacheTrust } from './cache-trust.ts';
import { ChangeFollower } from './change-follower.ts';
import { Freshness } from './freshness.ts';
import { Horizon } from './horizon.ts';
import { Invalidation } from './invalidation.ts';
import { type CacheLifetimes, LinkFinder } from './link-finder.ts';
import { ReadGate } from './read-gate.ts';
import { Resolver } from './resolver.ts';
import type { StoreHealth } from './store-health.ts';

export interface ResolvingOptions {
  readonly config: Config;
  readonly store: LinkStore;
  /** Tracks whether the engine responds, from its reads. */
  readonly health: StoreHealth;
  readonly cache: LinkCache;
  /** Whether processes share the cache, and its message channel. */
  readonly isShared: boolean;
  readonly codes: Codes;
  readonly isFollowable: (longUrl: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
  /** An account or a key changed in some process. */
  readonly onAccountChange: (change: string) => void;
}

export interface Resolving {
  readonly resolver: Resolver;
  /** Announces changed records: after this no process serves the old ones for longer than a message takes. */
  readonly announce: Announce;
  /** Announces a change of an account or its keys. */
  readonly announceAccount: (change: string) => Promise<void>;
  /** Caches a link that was just created for its first visitor, if the settings want that. */
  readonly keep: (link: Link) => void;
  /** Whether this process knows of every change since then, and none was of this code. */
  readonly isUnchangedSince: (code: string, at: number) => boolean;
  /** The period in which no message of another process was missed. */
  readonly channelProof: () => { readonly sinceMs: number; readonly untilMs: number };
  /** How long ago the store last proved that it answers. */
  storeSilentMs(): number;
  /** The state of this process while neither store nor channel responds. */
  isolation(): Isolation;
  metrics(): Metric[];
  stop(): Promise<void>;
}

export interface Isolation {
  /** Whether neither the store nor the message channel proves that memory is current. */
  readonly isIsolated: boolean;
  /** Whether links in memory may still be served. */
  readonly servesMemory: boolean;
}

const bytesPerMb = 1024 * 1024;

/** Longer than a late heartbeat or a late read of the feed takes. */
const isolatedAfterMs = 3_000;

/** How often the store is asked for changes: cheaply where it is a file, and seldom where messages are quicker. */
const pollMs = { embedded: 20, alone: 50, besideMessages: 1_000 } as const;

export async function startResolving(options: ResolvingOptions): Promise<Resolving> {
  const { config, store, health, cache, isShared, codes, isFollowable, clock, random, onError } = options;
  const isEmbedded = store.changeToken !== undefined;
  const lifetimes = lifetimesOf(config);
  const staleMaxMs = config.staleIfIsolatedS * 1_000;
  // Codes of other strategies are not leased, so the high-water mark does not apply to them.
  const leasesCodes = config.codeStrategy === 'range';
  const horizon = new Horizon(leasesCodes ? codes.space.decode : () => undefined);
  // Processes of other regions are not on this region's channel, so it cannot prove that nothing changed.
  const isWholeChannel = (parseRegion(config.region)?.count ?? 1) === 1;
  const freshness = new Freshness(clock, isWholeChannel);
  const trust = new CacheTrust({ cache, feed: store, clock, onTrusted: () => resolver.renewAll() });
  const isStoreFailing = (): boolean => health.isFailing && !(store.isNearUsable?.() ?? false);
  const gate = new ReadGate({ clock, isFailing: isStoreFailing });
  const finder = new LinkFinder({
    store,
    cache,
    trust,
    gate,
    onFenced: code => resolver.drop(code),
    catchUp: () => follower.catchUp(),
    mayKeepAbsence: code => horizon.judge(code) !== 'leased',
    clock,
    random,
    lifetimes,
  });
  const invalidation = new Invalidation({
    cache,
    trust,
    freshness,
    clock,
    forget: code => resolver.invalidate(code),
    onAccountChange: options.onAccountChange,
    onMissed: () => void follower.catchUp().catch(() => undefined),
    random,
  });
  // Reading a file is quicker than passing the read gate, and unlike a replica a file is never behind.
  const isDirect = isEmbedded && !isShared;
  // A link that is still queued would otherwise be looked up in the store, which does not have it yet.
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
    onProven: atMs => freshness.proveByFeed(atMs),
    onError,
  });
  const resolver: Resolver = new Resolver({
    store: isDirect ? store : finder,
    horizon,
    follower,
    freshness,
    outage: {
      isStoreFailing,
      mayAskCache: code => cache.isAvailableFor(code) && trust.mayUse(code),
      staleMaxMs,
      ...(isShared && { renew: link => finder.renew(link), renewEveryMs: renewEveryMs(lifetimes) }),
    },
    isFollowable,
    clock,
    random,
    entriesMax: config.l1Entries,
    bytesMax: config.l1Mb * bytesPerMb,
    ttlMs: config.l1TtlMs,
    negativeTtlMs: config.negativeTtlMs,
  });
  health.start();
  await follower.start();
  const followedMs = clock.monotonicMs();
  if (!isDirect) {
    if (isShared) invalidation.start();
    // A cache that is down at the start is retried until it is up.
    await trust.start();
  }
  const isolation = (): Isolation => {
    const provenAgoMs = clock.monotonicMs() - Math.max(followedMs, freshness.provenAtMs);
    return {
      isIsolated: health.isFailing && provenAgoMs > isolatedAfterMs,
      servesMemory: provenAgoMs < staleMaxMs,
    };
  };
  return {
    resolver,
    announce: codes =>
      isDirect ? codes.forEach(code => void resolver.invalidate(code)) : invalidation.announce(codes),
    announceAccount: change => invalidation.announceAccount(change),
    keep: link => {
      if (isShared && keepsNewLinks) finder.keep(link);
    },
    isUnchangedSince: (code, at) => trust.isUnchangedSince(code, clock.monotonicMs() - (clock.now() - at)),
    channelProof: () => ({
      sinceMs: freshness.contiguousSinceMs,
      untilMs: freshness.channelProvenAtMs,
    }),
    // The follower started, so the store responded then.
    storeSilentMs: () => clock.monotonicMs() - Math.max(followedMs, follower.provenAtMs),
    isolation,
    metrics: () => [
      ...sharedCacheMetrics({ finder, gate, trust, invalidation, freshness, clock, isShared }),
      oneValue('terse_isolated', Number(isolation().isIsolated)),
      oneValue('terse_stale_redirects_total', resolver.staleAnswers),
    ],
    async stop() {
      follower.stop();
      health.stop();
      trust.stop();
      await invalidation.stop();
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

/** A copy is renewed long before it expires, and often enough that a full Redis evicts others first. */
const renewEveryMaxMs = 30_000;

function renewEveryMs({ usualMs, newMs, popularMs, customMs }: CacheLifetimes): number {
  return Math.min(renewEveryMaxMs, Math.min(usualMs, newMs, popularMs, customMs) / 3);
}

/** The metrics of the shared cache and of the store reads behind it. */
interface SharedCacheParts {
  readonly finder: LinkFinder;
  readonly gate: ReadGate;
  readonly trust: CacheTrust;
  readonly invalidation: Invalidation;
  readonly freshness: Freshness;
  readonly clock: Clock;
  readonly isShared: boolean;
}

function sharedCacheMetrics({
  finder,
  gate,
  trust,
  invalidation,
  freshness,
  clock,
  isShared,
}: SharedCacheParts): Metric[] {
  const proofAgeS = (provenAtMs: number): number => (clock.monotonicMs() - provenAtMs) / 1_000;
  const store: Metric[] = [
    oneValue('terse_store_waits_total', gate.waits),
    oneValue('terse_store_rejected_total', gate.refusals),
    oneValue('terse_replica_reads_total', finder.nearReads),
  ];
  if (!isShared) return store;
  return [
    ...store,
    byLabel('terse_shared_cache_lookups_total', {
      hit: finder.cacheHits,
      miss: finder.cacheMisses,
      failed: finder.cacheFailures,
      passed: finder.cachePassed,
    }),
    byLabel('terse_shared_cache_fills_total', {
      kept: finder.fills,
      refused: finder.fillsRefused,
      failed: finder.fillsFailed,
    }),
    oneValue('terse_shared_cache_refreshes_total', finder.refreshes),
    oneValue('terse_shared_cache_renewals_total', finder.renewals),
    oneValue('terse_shared_cache_trusted', Number(trust.isTrusted)),
    oneValue('terse_shared_cache_fences_owed', trust.owed),
    oneValue('terse_shared_cache_discarded_total', trust.distrusts),
    byLabel('terse_change_messages_total', {
      sent: invalidation.messagesSent,
      failed: invalidation.messagesFailed,
      heard: invalidation.messagesReceived,
    }),
    oneValue('terse_change_messages_missed_total', freshness.messagesMissed),
    oneValue('terse_peers', freshness.peers),
    byLabel('terse_freshness_proof_age_seconds', {
      feed: proofAgeS(freshness.feedProvenAtMs),
      channel: proofAgeS(freshness.channelProvenAtMs),
    }),
    oneValue('terse_changes_by_feed_only_total', invalidation.changesByFeedOnly),
  ];
}
