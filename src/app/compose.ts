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
import { createClientAddress } from '../http/client-address.ts';
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
import { type Metric, renderMetrics } from '../ops/metrics.ts';
import { startAbuse } from './abuse.ts';
import { createAccounts } from './accounts.ts';
import { startArchiving } from './archiving.ts';
import { startClicks } from './clicks.ts';
import { type Config, ConfigError } from './config.ts';
import { connectionLimit } from './connection-limit.ts';
import { createCodes } from './generators.ts';
import { startLimits } from './limits.ts';
import { startMaintenance } from './maintenance.ts';
import { startModeration } from './moderation.ts';
import { startQueuedWrites } from './queued-writes.ts';
import { readIfPresent } from './read-if-present.ts';
import { startResolving } from './resolving.ts';
import { dutiesOf } from './roles.ts';
import { safeBrowsingListing, startSafeBrowsing } from './safe-browsing.ts';
import { openSharedRedis, redisMetrics } from './shared-redis.ts';
import { apiRoutes, redirectOf } from './site.ts';
import { type Farewell, forGood, forOthers, stopServer, takeAll } from './stopping.ts';
import { openStores } from './stores.ts';
import { socketFdOf, type WorkerPlace } from './supervision.ts';
import { connectionMetrics, Tally } from './tally.ts';

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
}

export interface StartOptions {
  readonly clock?: Clock;
  /** Whose socket to serve, when a supervisor has opened them. */
  readonly place?: WorkerPlace;
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
  { clock = systemClock, place, metricsOfAll = async own => own() }: StartOptions = {},
): Promise<Terse> {
  const random = systemRandom;
  const duties = dutiesOf(config.roles);
  const reserved = wordsOf(config.reservedFile, 'reservedFile', reservedWords);
  const offensive = wordsOf(config.offensiveFile, 'offensiveFile', offensiveTerms);
  const aliasPolicy = createAliasPolicy({ reserved, offensive });
  const ownHosts = [new URL(config.baseUrl).hostname, ...config.domains];
  const urlPolicy = createUrlPolicy({ ownHosts });

  const stores = await openStores(config, { clock, random, log });
  const redis = await openSharedRedis(config, clock, log);
  const secret = await stores.links.installationSecret(random.bytes(secretBytes));
  const codes = createCodes({
    secret,
    strategy: config.codeStrategy,
    length: config.codeLength,
    rangeSize: config.rangeSize,
    machineId: (config.machineId + (place?.index ?? 0)) % machineIds,
    source: stores.links,
    isAllowed: aliasPolicy.isAllowedCode,
    clock,
    random,
  });

  const onError = (error: unknown): void =>
    log.error('background work failed', { failure: describeFailure(error) });
  const safeBrowsing = await startSafeBrowsing({
    config,
    clientVersion: packageDocument.version,
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
  const linkStore = announcingStore(observedStore, resolving.announce, resolving.keep);
  abuse.onListsChanged(() => resolver.flush());
  const stopMaintenance = duties.background
    ? startMaintenance({ store: stores.links, clock, expiryGraceDays: config.expiryGraceDays, onError })
    : async () => {};

  const clicks = config.clicks
    ? startClicks({
        stream: config.stream,
        counts: duties.background,
        dataFolder: config.data,
        spillFolder: config.clickSpill,
        spillMbMax: config.clickSpillMb,
        secret,
        geoPath: config.geoFile,
        ownHosts,
        rawDays: config.clickDays,
        archives: config.archive !== undefined,
        minuteDays: config.minuteDays,
        clock,
        random,
        log,
      })
    : undefined;
  const isFirstHere = (place?.index ?? 0) === 0;
  const archiving = startArchiving({ config, isOurs: duties.background && isFirstHere, clock, log });
  const clientAddress = createClientAddress(config.trustedProxies);
  const limits = startLimits({ config, accounts: stores.accounts, redis, secret, clock, log });
  const accounts = createAccounts({ config, store: stores.accounts, limits, clock, random });
  const tally = new Tally();
  const links: LinkContext = {
    store: linkStore,
    generator: codes.generator,
    urlPolicy,
    judgeUrl: abuse.judgeUrl,
    aliasPolicy,
    claimOf: codes.claimOf,
    anonymousAllowed: config.anonymous,
    clock,
  };
  const moderation = startModeration({ stores, links, secret, clock, onError });
  const onFault = (error: unknown, request: Request | WireRequest | undefined): void =>
    log.error('request failed', {
      method: request?.method,
      path: pathOf(request),
      failure: describeFailure(error),
    });
  const checkParts = async () => ({ links: await works(() => stores.links.mark(config.codeLength)) });
  const ownMetrics = (): readonly Metric[] => [
    ...tally.metrics(resolver, codes.generator, clicks),
    ...resolving.metrics(),
    ...queuedWrites.metrics(),
    ...redisMetrics(redis),
    ...connectionMetrics(server),
    ...limits.metrics(),
    ...moderation.metrics(),
    ...abuse.metrics(),
    ...safeBrowsing.metrics(),
    ...archiving.metrics(),
  ];
  const metrics = () => metricsOfAll(ownMetrics);
  const startedAt = clock.now();

  const server = startServer({
    at:
      place === undefined
        ? { hostname: config.host, port: config.port }
        : { fd: socketFdOf(place.index), port: place.port },
    clock: systemClock,
    connectionsMax: connectionLimit(config.connections, readIfPresent('/proc/self/limits')),
    version: packageDocument.version,
    anonymousAllowed: config.anonymous,
    inFlightMax: config.inFlightMax,
    baseUrlFor: port => (config.sources.baseUrl === 'default' ? `http://localhost:${port}` : config.baseUrl),
    dispatch: {
      identify: accounts.identify,
      limits: limits.guard,
      onFault,
      onAnswer(route, request, status) {
        tally.countAnswer(route, status);
        log.info('request', { method: request.method, route: route?.name ?? pathOf(request), status });
      },
    },
    clientAddress,
    build: site => ({
      redirect: duties.redirects
        ? redirectOf(site, {
            config,
            resolver,
            links: queuedWrites.store,
            clicks,
            limits,
            tally,
            secret,
            clientAddress,
            clock,
            onFault,
          })
        : undefined,
      routes: [
        ...systemRoutes({ checkParts, renderMetrics: async () => renderMetrics(await metrics()) }),
        ...(duties.api
          ? [
              ...apiRoutes(site, { config, links, accounts, clicks, audit: stores.audit }),
              ...abuse.routes,
              ...moderation.routes(site),
              statusRoute({ version: packageDocument.version, startedAt, checkParts, metrics, clock }),
            ]
          : []),
      ],
      hasPages: duties.api,
    }),
  });

  let ending: Promise<void> | undefined;
  const end = (farewell: Farewell): Promise<void> => {
    const hasLeft = stopServer(server, systemClock, farewell);
    ending ??= takeAll([
      // A live view has no end of its own.
      () => clicks?.reports.watchers.endAll(),
      () => hasLeft,
      () => archiving.stop(),
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
    baseUrl: config.sources.baseUrl === 'default' ? `http://localhost:${server.port}` : config.baseUrl,
    newAdminKey: newKey,
    stop: () => end(forGood),
    retire: () => end(forOthers),
    metrics: ownMetrics,
    serveAlso: fd => server.serveAlso(fd),
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

async function works(attempt: () => Promise<unknown>): Promise<boolean> {
  try {
    await attempt();
    return true;
  } catch {
    return false;
  }
}

/** Without the query, which may carry anything. */
function pathOf(request: Request | WireRequest | undefined): string | undefined {
  const path = request instanceof Request ? URL.parse(request.url)?.pathname : request?.path;
  return path?.slice(0, pathShownMax);
}
