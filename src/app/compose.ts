/**
 * Puts the parts together. Only this folder knows which drivers exist (stores.ts picks them); everything below it
 * works with ports. What it returns can be started and stopped any number of times in one process, as tests do.
 */
import { readFileSync } from 'node:fs';
import packageDocument from '../../package.json' with { type: 'json' };
import { createUrlPolicy } from '../abuse/url-policy.ts';
import type { NewAdminKey } from '../accounts/api-key.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { parseRegion } from '../codes/id-share.ts';
import { createClientAddress, createTrust } from '../http/client-address.ts';
import { statusRoute } from '../http/routes/status.ts';
import { systemRoutes } from '../http/routes/system.ts';
import { type HttpServer, startServer } from '../http/server.ts';
import type { WireRequest } from '../http/wire/wire-request.ts';
import { createAliasPolicy } from '../links/alias-policy.ts';
import { announcingStore } from '../links/announcing-store.ts';
import type { LinkContext } from '../links/context.ts';
import { offensiveTerms } from '../links/offensive-terms.ts';
import { reservedWords } from '../links/reserved-words.ts';
import { parseWordFile } from '../links/word-file.ts';
import { holdListed } from '../moderation/hold-listed.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import type { Metric } from '../ops/metrics.ts';
import { startAbuse } from './abuse.ts';
import { createAccounts } from './accounts.ts';
import { startArchiving } from './archiving.ts';
import { openCertificate } from './certificate.ts';
import { clickMetrics } from './click-metrics.ts';
import { startClicks } from './clicks.ts';
import { type Config, ConfigError } from './config.ts';
import { connectionLimit } from './connection-limit.ts';
import { engineMetrics } from './engine-health.ts';
import { createCodes } from './generators.ts';
import { introducersOf } from './introducers.ts';
import { startLimits } from './limits.ts';
import { startLinkHealth } from './link-health.ts';
import { startMaintenance } from './maintenance.ts';
import { openMetricsPort } from './metrics-port.ts';
import { startModeration } from './moderation.ts';
import { startObserving } from './observing.ts';
import { publicOrigin } from './public-origin.ts';
import { startPurging } from './purging.ts';
import { startQueuedWrites } from './queued-writes.ts';
import { readIfPresent } from './read-if-present.ts';
import { checkReadiness } from './readiness.ts';
import { startResolving } from './resolving.ts';
import { dutiesOf } from './roles.ts';
import { safeBrowsingListing, startSafeBrowsing } from './safe-browsing.ts';
import { openSharedRedis, redisMetrics } from './shared-redis.ts';
import { apiRoutes, metricsRoutes, redirectOf } from './site.ts';
import { type Farewell, forGood, forOthers, stopServer, takeAll } from './stopping.ts';
import { openStores } from './stores.ts';
import { socketFdOf, type WorkerPlace } from './supervision.ts';
import { connectionMetrics } from './tally.ts';

export interface Terse {
  readonly server: HttpServer;
  readonly baseUrl: string;
  /** Set when this start made the admin's first key; to be shown once. */
  readonly newAdminKey: NewAdminKey | undefined;
  /** Finishes what is in progress, then closes everything. */
  stop(): Promise<void>;
  /** Does the same while other processes go on serving the port: no client is turned away in the middle. */
  retire(): Promise<void>;
  /** The numbers of this process. */
  metrics(): readonly Metric[];
  /** Serves another socket too, until the returned function is called. */
  serveAlso(fd: number): () => void;
  /** Looks at the files of the certificate at once; undefined where there is none. */
  readonly renewCertificate: (() => Promise<void>) | undefined;
}

export interface StartOptions {
  readonly clock?: Clock;
  /** Whose socket to serve, when a supervisor has opened them. */
  readonly place?: WorkerPlace;
  /** Whoever has the port until now lets go of it. */
  readonly beforeListening?: () => Promise<void>;
  /** The numbers to show, which are those of all workers; `own` are those of this process. */
  readonly metricsOfAll?: (own: () => readonly Metric[]) => Promise<readonly Metric[]>;
}

const secretBytes = 32;
const pathShownMax = 200;
/** Workers of one machine follow each other in the numbers by which `snowflake` codes are told apart. */
const machineIds = 1_024;

export async function startTerse(
  config: Config,
  log: Log,
  { clock = systemClock, place, beforeListening, metricsOfAll = async own => own() }: StartOptions = {},
): Promise<Terse> {
  const random = systemRandom;
  const startedAt = clock.now();
  const { version } = packageDocument;
  const observing = startObserving({ config, version, startedAt, clock, random, log });
  const duties = dutiesOf(config.roles);
  const reserved = wordsOf(config.reservedFile, 'reservedFile', reservedWords);
  const offensive = wordsOf(config.offensiveFile, 'offensiveFile', offensiveTerms);
  const aliasPolicy = createAliasPolicy({ reserved, offensive });
  const ownHosts = [new URL(config.baseUrl).hostname, ...config.domains];
  const urlPolicy = createUrlPolicy({ ownHosts });

  const certificate = await openCertificate(config, systemClock, log);
  const stores = await openStores(config, { clock, random, log });
  const redis = await openSharedRedis(config, clock, log);
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
    clock,
    random,
    log,
    onListed: (code, threat, url) => holdListed(moderation.context, code, safeBrowsingListing(threat, url)),
  });
  const queuedWrites = await startQueuedWrites({
    config,
    duties,
    store: stores.links,
    redis,
    mayBePending: code => codes.claimOf(code) !== undefined,
    clock,
    log,
    tracer: observing.tracer,
  });
  const observedStore = safeBrowsing.observe(queuedWrites.store);
  const abuse = await startAbuse({ config, stores, checkers: safeBrowsing.checkers, clock, random, log });
  const resolving = await startResolving({
    config,
    store: observedStore,
    redis,
    codes,
    isFollowable: url => urlPolicy.isFollowable(url) && !abuse.isListed(url),
    clock,
    random,
    onError,
  });
  const { resolver } = resolving;
  const linkStore = observing.trace(announcingStore(observedStore, resolving.announce, resolving.keep));
  abuse.onListsChanged(() => resolver.flush());
  const stopMaintenance = duties.background
    ? startMaintenance({
        store: stores.links,
        audit: stores.audit,
        clock,
        expiryGraceDays: config.expiryGraceDays,
        auditDays: config.auditDays,
        onError,
        tracer: observing.tracer,
      })
    : async () => {};

  const clicks = config.clicks
    ? startClicks({
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
        random,
        log,
      })
    : undefined;
  const isFirstHere = (place?.index ?? 0) === 0;
  const isOurs = duties.background && isFirstHere;
  const archiving = startArchiving({ config, isOurs, clock, log });
  const purging = startPurging({ config, store: stores.links, isOurs, clock, log });
  abuse.onListsChanged(() => purging.purgeAll());
  const linkHealth = await startLinkHealth({ config, version, isOurs, redis, clock, random, log });
  const clientAddress = createClientAddress(config.trustedProxies);
  const limits = startLimits({ config, accounts: stores.accounts, redis, secret, clock, log });
  const accounts = createAccounts({ config, store: stores.accounts, limits, secret, clock, random });
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
  const readiness = () => checkReadiness({ duties, links: stores.links, codeLength, redis, clicks });
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
    ...moderation.metrics(),
    ...abuse.metrics(),
    ...safeBrowsing.metrics(),
    ...archiving.metrics(),
    ...linkHealth.metrics(),
    ...purging.metrics(),
    ...observing.metrics(),
  ];
  const metrics = () => metricsOfAll(ownMetrics);

  await beforeListening?.();
  // With several workers the supervisor opens it.
  const closeMetricsPort =
    place === undefined ? openMetricsPort(config, { metrics, clock: systemClock, log }) : async () => {};
  const server = startServer({
    at:
      place === undefined
        ? { hostname: config.host, port: config.port }
        : { fd: socketFdOf(place.index), port: place.port },
    clock: systemClock,
    connectionsMax: connectionLimit(config.connections, readIfPresent('/proc/self/limits')),
    keepAliveS: config.keepAliveS,
    identity: certificate?.identity,
    hstsMaxAgeS: config.hstsMaxAgeS,
    isIntroducing: introducersOf(config),
    version,
    anonymousAllowed: config.anonymous,
    inFlightMax: config.inFlightMax,
    sharePercent: config.addressSharePercent,
    isProxy: createTrust(config.trustedProxies),
    baseUrlFor: port => publicOrigin(config, port),
    dispatch: {
      identify: accounts.identify,
      limits: limits.guard,
    },
    watch: (request, peer) => observing.watch(request, peer),
    onFault: error => onFault(error, undefined),
    clientAddress,
    build: site => ({
      redirect: duties.redirects
        ? redirectOf(site, {
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
          })
        : undefined,
      routes: [
        ...systemRoutes({ readiness }),
        ...metricsRoutes(site, { config, identify: accounts.identify, metrics }),
        ...(duties.api
          ? [
              ...apiRoutes(site, {
                config,
                links,
                accounts,
                clicks,
                audit: stores.audit,
                healthOf: linkHealth.healthOf,
              }),
              ...abuse.routes,
              ...moderation.routes(site),
              statusRoute({ version, startedAt, readiness, metrics, clock }),
            ]
          : []),
      ],
      hasPages: duties.api,
    }),
  });

  const stopRenewal = certificate?.follow(identity => server.renew(identity));

  let ending: Promise<void> | undefined;
  const end = (farewell: Farewell): Promise<void> => {
    const hasLeft = stopServer(server, systemClock, farewell);
    ending ??= takeAll([
      () => stopRenewal?.(),
      // A live view has no end of its own.
      () => clicks?.reports.watchers.endAll(),
      () => hasLeft,
      closeMetricsPort,
      () => archiving.stop(),
      () => linkHealth.stop(),
      () => purging.stop(),
      () => clicks?.close(),
      () => queuedWrites.stop(),
      () => limits.close(),
      () => resolving.stop(),
      stopMaintenance,
      () => safeBrowsing.stop(),
      () => moderation.stop(),
      () => abuse.stop(),
      () => codes.generator.close(),
      () => stores.links.close(),
      () => redis?.close(),
      () => observing.stop(),
      () => log.flush(),
    ]);
    return ending;
  };
  // Only a server that has its port makes or changes keys: one that cannot start would take them to its grave.
  const { newKey } = await accounts.credentials.setUpAdmin(config.adminKey).catch(async error => {
    await end(forGood);
    throw error;
  });
  return {
    server,
    baseUrl: publicOrigin(config, server.port),
    newAdminKey: newKey,
    stop: () => end(forGood),
    retire: () => end(forOthers),
    metrics: ownMetrics,
    serveAlso: fd => server.serveAlso(fd),
    renewCertificate: certificate?.look,
  };
}

function wordsOf(path: string | undefined, setting: string, defaults: readonly string[]): readonly string[] {
  if (path === undefined) return defaults;
  try {
    return parseWordFile(readFileSync(path, 'utf8'), defaults);
  } catch (error) {
    throw new ConfigError(`${setting} ${path} cannot be used: ${(error as Error).message}`);
  }
}
