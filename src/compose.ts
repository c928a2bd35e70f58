/**
 * Picks the drivers that the settings name and wires the parts together; everything else works with ports. The result
 * can be started and stopped any number of times in one process, as tests do.
 */

import packageDocument from '../package.json' with { type: 'json' };
import { safeBrowsingListing, startSafeBrowsing } from './abuse/safe-browsing/start.ts';
import { startAbuse } from './abuse/start.ts';
import { createUrlPolicy } from './abuse/url-policy.ts';
import { knownKeys } from './accounts/known-keys.ts';
import { createAccounts } from './accounts/start.ts';
import { createTrust } from './base/addresses.ts';
import { systemClock } from './base/clock.ts';
import { startArchiving } from './clicks/archiving.ts';
import { clickHeaps, clickMetrics } from './clicks/metrics.ts';
import { createGeo } from './clicks/steps/geo.ts';
import { parseRegion } from './codes/id-share.ts';
import { createCodes } from './codes/start.ts';
import { awsKeysOfProcess, type Config, dutiesOf } from './config/config.ts';
import { publicOrigin } from './config/public-origin.ts';
import { type Drivers, systemDrivers } from './drivers.ts';
import { openPurger } from './edge/purgers/open.ts';
import { startPurging } from './edge/start.ts';
import { redisMetrics } from './engines/redis/open.ts';
import { ProcessLock } from './engines/sqlite/process-lock.ts';
import { createHealthStore } from './health/health.ts';
import { startLinkHealth } from './health/start.ts';
import { createClientAddress } from './http/client-address.ts';
import { createLimitGuard } from './http/limits.ts';
import { openMetricsPort } from './http/metrics-port.ts';
import { connectionMetrics, startObserving } from './http/observing.ts';
import { statusRoute, systemRoutes } from './http/routes/system.ts';
import { startServer } from './http/server.ts';
import { apiRoutes, identityOf, metricsRoutes, redirectOf } from './http/site.ts';
import type { WireRequest } from './http/wire/wire-request.ts';
import { startLimits } from './limits/start.ts';
import { createAliasPolicy } from './links/alias-policy.ts';
import { offensiveTerms, reservedWords } from './links/alias-words.ts';
import { announcingStore, observedStore } from './links/announcing-store.ts';
import { confirmedStore } from './links/confirmed-store.ts';
import type { LinkContext } from './links/context.ts';
import { gatheringStore } from './links/insert-many.ts';
import { startMaintenance } from './links/maintenance.ts';
import { outboxStore } from './links/outbox.ts';
import { startQueuedWrites } from './links/queued-writes.ts';
import { holdListed } from './moderation/decide.ts';
import { startModeration } from './moderation/start.ts';
import { openCertificate } from './process/certificate.ts';
import { proxyProtocolPeersOf } from './process/listening-socket.ts';
import { connectionLimits, readIfPresent } from './process/machine.ts';
import { checkReadiness, engineMetrics } from './process/readiness.ts';
import type { StartOptions, Terse } from './process/serve.ts';
import { closeAll, handover, type ShutdownPolicy, stopServer, terminate } from './process/shutdown.ts';
import { readWords } from './process/start-checks.ts';
import { socketFdOf } from './process/supervised.ts';
import { createNoCache } from './resolve/cache.ts';
import { createRedisCache } from './resolve/caches/redis.ts';
import { startResolving } from './resolve/start.ts';
import { StoreHealth } from './resolve/store-health.ts';
import { describeFailure, type Log } from './telemetry/log.ts';
import { byLabel, oneValue } from './telemetry/metric-table.ts';
import type { Metric } from './telemetry/metrics.ts';

const secretBytes = 32;
const pathShownMax = 200;
/** Workers of one machine have consecutive numbers, which keep their `snowflake` codes distinct. */
const machineIds = 1_024;

export async function startTerse(
  config: Config,
  log: Log,
  {
    clock = systemClock,
    place,
    beforeListening,
    metricsOfAll = async own => own(),
    drivers,
  }: StartOptions & { readonly drivers?: Partial<Drivers> } = {},
): Promise<Terse> {
  const { random, waitClock, ...open } = { ...systemDrivers, ...drivers };
  const startedAt = clock.now();
  const { version } = packageDocument;
  const observing = startObserving({ config, version, startedAt, clock, waitClock, random, log });
  const duties = dutiesOf(config.roles);
  const reserved = readWords(config, 'reservedFile', reservedWords);
  const offensive = readWords(config, 'offensiveFile', offensiveTerms);
  const aliasPolicy = createAliasPolicy({ reserved, offensive });
  const ownHosts = [new URL(config.baseUrl).hostname, ...config.domains];
  const urlPolicy = createUrlPolicy({ ownHosts });

  const certificate = await openCertificate(config, waitClock, log);
  const stores = await open.openStores(config, { clock, random, log });
  const redis = await open.openRedis(config.cache, clock, log);
  const secret = await stores.links.installationSecret(random.bytes(secretBytes));
  const codes = createCodes({
    secret,
    strategy: config.codeStrategy,
    length: config.codeLength,
    rangeSize: config.rangeSize,
    machineId: (config.machineId + (place?.index ?? 0)) % machineIds,
    region: parseRegion(config.region),
    source: stores.links,
    isAllowed: aliasPolicy.isAllowedCode,
    clock,
    random,
  });

  const onError = (error: unknown): void =>
    log.error('background work failed', { failure: describeFailure(error) });
  const safeBrowsing = await startSafeBrowsing({
    config,
    clientVersion: version,
    lockAt: path => new ProcessLock(path),
    clock,
    random,
    log,
    onListed: (code, threat, url) => holdListed(moderation.context, code, safeBrowsingListing(threat, url)),
  });
  const geo = createGeo({ databasePath: config.geoFile });
  const health = new StoreHealth(clock);
  const queuedWrites = await startQueuedWrites({
    config,
    duties,
    // Nothing subscribes to events yet.
    store: health.watched(outboxStore(stores.links, () => false)),
    openQueue:
      config.writes === 'queued' && redis !== undefined
        ? onError => open.openQueue(config.stream, { redis, clock, onError })
        : undefined,
    mayBePending: code => codes.claimOf(code) !== undefined,
    isUnchangedSince: (code, at) => resolving.isUnchangedSince(code, at),
    clock,
    waitClock,
    log,
    tracer: observing.tracer,
  });
  const seenStore = observedStore(confirmedStore(queuedWrites.store, clock), link =>
    safeBrowsing.see(link.code, link.longUrl),
  );
  const abuse = await startAbuse({
    config,
    entries: stores.blockEntries,
    checkers: safeBrowsing.checkers,
    countryOf: address => geo.locate(address).country || undefined,
    clock,
    random,
    log,
  });
  const accountKeys = knownKeys(stores.accounts, {
    clock,
    health,
    proof: () => resolving.channelProof(),
    announce: change => resolving.announceAccount(change),
  });
  const resolving = await startResolving({
    config,
    store: seenStore,
    health,
    cache: redis === undefined ? createNoCache() : createRedisCache(redis),
    isShared: redis !== undefined,
    codes,
    isFollowable: url => urlPolicy.isFollowable(url) && !abuse.isListed(url),
    clock,
    random,
    onError,
    onAccountChange: change => accountKeys.forget(change),
  });
  const { resolver } = resolving;
  const stopRereading = accountKeys.start();
  const announcing = announcingStore(seenStore, resolving.announce, resolving.keep);
  const linkStore = observing.trace(gatheringStore(announcing));
  abuse.onListsChanged(() => resolver.judgeAgain());
  const stopMaintenance = duties.background
    ? startMaintenance({
        store: stores.links,
        records: stores.records,
        clock,
        expiryGraceDays: config.expiryGraceDays,
        onError,
        tracer: observing.tracer,
      })
    : async () => {};

  const clicks = config.clicks
    ? open.startClicks({
        stream: config.stream,
        stats: config.stats,
        counts: duties.background,
        dataFolder: config.data,
        spillFolder: config.clickSpill,
        spillMbMax: config.clickSpillMb,
        secret,
        geoPath: config.geoFile,
        ownHosts,
        addressRate: config.suspiciousAddressRate,
        agentRate: config.suspiciousAgentRate,
        rawDays: config.clickDays,
        archives: config.archive !== undefined,
        minuteDays: config.minuteDays,
        clock,
        waitClock,
        random,
        log,
      })
    : undefined;
  const isFirstHere = (place?.index ?? 0) === 0;
  const isOurs = duties.background && isFirstHere;
  const archiving = startArchiving({ config, isOurs, clock, log });
  const purgerAt = (address: string) =>
    openPurger(address, { token: config.edgePurgeToken, keys: awsKeysOfProcess(), clock });
  const purging = startPurging({ config, purgerAt, store: stores.links, isOurs, clock, log });
  abuse.onListsChanged(() => purging.purgeAll());
  const linkHealth = startLinkHealth({
    config,
    version,
    isOurs,
    store: createHealthStore(stores.records, clock, random),
    random,
    log,
  });
  const clientAddress = createClientAddress(config.trustedProxies);
  const shared =
    redis === undefined && config.links === 'memory'
      ? undefined
      : open.openLimiter({ redis, dataFolder: config.data, secret });
  const limits = startLimits({ config, accounts: stores.accounts, shared, clock, log });
  const accounts = createAccounts({ config, store: accountKeys.store, limits, secret, clock, random });
  const identify = identityOf(config, accounts);
  const links: LinkContext = {
    store: linkStore,
    generator: codes.generator,
    urlPolicy,
    judgeUrl: abuse.judgeUrl,
    aliasPolicy,
    claimOf: codes.claimOf,
    anonymousAllowed: config.anonymous,
    clock,
    onMade: (actor, link) => observing.tally.countMade(actor, link),
  };
  const moderation = startModeration({ stores, links, secret, clock, onError });
  const onFault = (error: unknown, request: WireRequest | undefined): void =>
    log.error('request failed', {
      method: request?.method,
      path: request?.path.slice(0, pathShownMax),
      failure: describeFailure(error),
    });
  const { codeLength } = config;
  const readiness = () =>
    checkReadiness({
      duties,
      links: stores.links,
      codeLength,
      redis,
      clicks,
      isolation: resolving.isolation(),
    });
  const ownMetrics = (): readonly Metric[] => [
    ...observing.tally.metrics(resolver, codes.generator),
    ...(clicks === undefined ? [] : clickMetrics(clicks)),
    ...engineMetrics({ config, stores, storeSilentMs: resolving.storeSilentMs(), redis, clicks }),
    ...resolving.metrics(),
    ...queuedWrites.metrics(),
    ...redisMetrics(redis),
    ...connectionMetrics(server),
    ...(certificate?.metrics() ?? []),
    ...limits.metrics(),
    ...accounts.metrics(),
    oneValue('terse_key_copies_used_total', accountKeys.figures.usedCopies),
    ...moderation.metrics(),
    ...abuse.metrics(),
    ...safeBrowsing.metrics(),
    ...archiving.metrics(),
    ...linkHealth.metrics(),
    ...purging.metrics(),
    ...observing.metrics(),
    byLabel('terse_heap_bytes', { main: process.memoryUsage().heapUsed, ...(clicks && clickHeaps(clicks)) }),
  ];
  const metrics = () => metricsOfAll(ownMetrics);

  await beforeListening?.();
  // With several workers the supervisor opens it.
  const closeMetricsPort =
    place === undefined ? openMetricsPort(config, { metrics, clock: waitClock, log }) : async () => {};
  const server = startServer({
    at:
      place === undefined
        ? { hostname: config.host, port: config.port }
        : { fd: socketFdOf(place.index), port: place.port },
    listen: open.listen,
    clock: waitClock,
    ...connectionLimits(config.connections, readIfPresent('/proc/self/limits')),
    keepAliveS: config.keepAliveS,
    identity: certificate?.identity,
    hstsMaxAgeS: config.hstsMaxAgeS,
    sendsProxyHeader: proxyProtocolPeersOf(config),
    version,
    anonymousAllowed: config.anonymous,
    inFlightMax: config.inFlightMax,
    sharePercent: config.addressSharePercent,
    isProxy: createTrust(config.trustedProxies),
    baseUrlFor: port => publicOrigin(config, port),
    dispatch: {
      identify,
      limits: createLimitGuard({ ...limits, clock, onLimited: limits.noteLimited }),
    },
    watch: (request, peer) => observing.watch(request, peer),
    onFault: error => onFault(error, undefined),
    clientAddress,
    build: site => ({
      ...(duties.redirects &&
        redirectOf(site, {
          config,
          resolver,
          links: queuedWrites.store,
          clicks,
          limits,
          observing,
          secret,
          clientAddress,
          clock,
          onFault,
        })),
      routes: [
        ...systemRoutes({ readiness }),
        ...metricsRoutes(site, { config, identify, metrics }),
        ...(duties.api
          ? [
              ...apiRoutes(site, {
                config,
                links,
                accounts,
                clicks,
                abuse,
                blockEntries: stores.blockEntries,
                moderation: moderation.context,
                healthOf: linkHealth.healthOf,
                secret,
              }),
              statusRoute({ version, startedAt, readiness, metrics, clock }),
            ]
          : []),
      ],
      hasPages: duties.api,
    }),
  });

  const stopRenewal = certificate?.follow(identity => server.renew(identity));

  let ending: Promise<void> | undefined;
  const end = (policy: ShutdownPolicy): Promise<void> => {
    const hasLeft = stopServer(server, waitClock, policy);
    ending ??= closeAll([
      () => stopRenewal?.(),
      // A live view does not end by itself.
      () => clicks?.reports.watchers.endAll(),
      () => hasLeft,
      closeMetricsPort,
      () => archiving.stop(),
      () => linkHealth.stop(),
      () => purging.stop(),
      () => clicks?.close(),
      () => queuedWrites.stop(),
      () => limits.close(),
      stopRereading,
      stopMaintenance,
      () => safeBrowsing.stop(),
      () => moderation.stop(),
      () => abuse.stop(),
      // Nothing in this process can change a link any more: after this the others do not wait for it.
      () => resolving.stop(),
      () => codes.generator.close(),
      () => stores.links.close(),
      () => redis?.close(),
      () => observing.stop(),
      () => log.finish(),
    ]);
    return ending;
  };
  // Only a server that has its port creates or changes keys: a key created by one that fails to start is lost. And only
  // one with the API: an operator looks for the key where it can be used.
  const newAdminKey = duties.api
    ? await accounts.credentials.setUpAdmin(config.adminKey).then(
        ({ newKey }) => newKey,
        async error => {
          await end(terminate);
          throw error;
        },
      )
    : undefined;
  return {
    server,
    baseUrl: publicOrigin(config, server.port),
    newAdminKey,
    stop: () => end(terminate),
    retire: () => end(handover),
    metrics: ownMetrics,
    serveAlso: fd => server.serveAlso(fd),
    renewCertificate: certificate?.look,
  };
}
