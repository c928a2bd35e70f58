/**
 * Puts the parts together. Only this folder knows which drivers exist (stores.ts picks them); everything below it
 * works with ports. What it returns can be started and stopped any number of times in one process, as tests do.
 */
import { readFileSync } from 'node:fs';
import packageDocument from '../../package.json' with { type: 'json' };
import { createUrlPolicy } from '../abuse/url-policy.ts';
import { type Credentials, createCredentials, type NewAdminKey } from '../accounts/api-key.ts';
import { type Clock, systemClock } from '../base/clock.ts';
import { systemRandom } from '../base/random.ts';
import { visitFlags } from '../clicks/steps/visit-kind.ts';
import { createClientAddress } from '../http/client-address.ts';
import { createRedirect } from '../http/redirect.ts';
import { bulkRoute } from '../http/routes/bulk.ts';
import { clickRoutes } from '../http/routes/clicks.ts';
import { keyRoutes } from '../http/routes/keys.ts';
import { linkRoutes } from '../http/routes/links.ts';
import { qrRoute } from '../http/routes/qr.ts';
import { statsRoutes } from '../http/routes/stats.ts';
import { systemRoutes } from '../http/routes/system.ts';
import { type HttpServer, type Site, startServer } from '../http/server.ts';
import { createAliasPolicy } from '../links/alias-policy.ts';
import type { LinkContext } from '../links/context.ts';
import { offensiveTerms } from '../links/offensive-terms.ts';
import { reservedWords } from '../links/reserved-words.ts';
import { parseWordFile } from '../links/word-file.ts';
import { describeFailure, type Log } from '../ops/log.ts';
import { renderMetrics } from '../ops/metrics.ts';
import { startClicks } from './clicks.ts';
import { type Config, ConfigError } from './config.ts';
import { createCodes } from './generators.ts';
import { startMaintenance } from './maintenance.ts';
import { startResolving } from './resolving.ts';
import { stopServer, takeAll } from './stopping.ts';
import { openStores } from './stores.ts';
import { Tally } from './tally.ts';

export interface Terse {
  readonly server: HttpServer;
  readonly baseUrl: string;
  /** Set when this start made the admin's first key; to be shown once. */
  readonly newAdminKey: NewAdminKey | undefined;
  /** Finishes what is in progress, then closes everything. */
  stop(): Promise<void>;
}

const secretBytes = 32;

export async function startTerse(config: Config, log: Log, clock: Clock = systemClock): Promise<Terse> {
  const random = systemRandom;
  const reserved = wordsOf(config.reservedFile, 'reservedFile', reservedWords);
  const offensive = wordsOf(config.offensiveFile, 'offensiveFile', offensiveTerms);
  const aliasPolicy = createAliasPolicy({ reserved, offensive });
  const ownHosts = [new URL(config.baseUrl).hostname, ...config.domains];
  const urlPolicy = createUrlPolicy({ ownHosts });

  const stores = await openStores(config);
  const credentials = createCredentials(stores.accounts, clock, random);
  const secret = await stores.links.installationSecret(random.bytes(secretBytes));
  const codes = createCodes({
    secret,
    strategy: config.codeStrategy,
    length: config.codeLength,
    rangeSize: config.rangeSize,
    machineId: config.machineId,
    source: stores.links,
    isAllowed: aliasPolicy.isAllowedCode,
    clock,
    random,
  });

  const onError = (error: unknown): void =>
    log.error('background work failed', { failure: describeFailure(error) });
  const resolving = await startResolving({
    config,
    store: stores.links,
    codes,
    isFollowable: urlPolicy.isFollowable,
    clock,
    random,
    onError,
  });
  const { resolver } = resolving;
  const stopMaintenance = startMaintenance({
    store: stores.links,
    clock,
    expiryGraceDays: config.expiryGraceDays,
    onError,
  });

  const clicks = config.clicks
    ? startClicks({
        dataFolder: config.data,
        secret,
        geoPath: config.geoFile,
        ownHosts,
        rawDays: config.clickDays,
        minuteDays: config.minuteDays,
        clock,
        random,
        log,
      })
    : undefined;
  const clientAddress = createClientAddress(config.trustedProxies);
  const tally = new Tally();
  const links: LinkContext = {
    store: stores.links,
    generator: codes.generator,
    urlPolicy,
    aliasPolicy,
    claimOf: codes.claimOf,
    anonymousAllowed: config.anonymous,
    clock,
    onChanged: code => resolver.invalidate(code),
  };
  const onFault = (error: unknown, request: Request | undefined): void =>
    log.error('request failed', {
      method: request?.method,
      path: pathOf(request),
      failure: describeFailure(error),
    });
  const checkParts = async () => ({ links: await works(() => stores.links.mark(config.codeLength)) });
  const metrics = () => renderMetrics(tally.metrics(resolver, codes.generator, clicks));

  const server = startServer({
    port: config.port,
    hostname: config.host,
    version: packageDocument.version,
    anonymousAllowed: config.anonymous,
    inFlightMax: config.inFlightMax,
    baseUrlFor: port => (config.sources.baseUrl === 'default' ? `http://localhost:${port}` : config.baseUrl),
    dispatch: {
      credentials,
      onFault,
      onAnswer(route, request, status) {
        tally.countAnswer(route, status);
        log.info('request', { method: request.method, route: route?.name ?? pathOf(request), status });
      },
    },
    build: site => ({
      redirect: createRedirect({
        ...site,
        recall: code => resolver.recall(code),
        resolve: code => resolver.resolve(code),
        record(link, request, at) {
          if (clicks === undefined) return;
          const { headers } = request;
          const address = clientAddress(site.peerOf(request), headers);
          const agent = headers.get('user-agent') ?? '';
          clicks.recorder.record(link, at, address, agent, headers.get('referer') ?? '', visitFlags(request));
        },
        async useClick(code) {
          const allowed = await stores.links.useClick(code, clock.now());
          // Who is not counted is judged by the record in memory, which does not know of this click.
          resolver.invalidate(code);
          return allowed;
        },
        clock,
        expiredStatus: config.expiredStatus,
        edgeTtlS: config.edgeTtlS,
        robots: config.robots,
        onAnswer: status => tally.redirects.add(status),
        onFault,
      }),
      routes: [
        ...apiRoutes(links, credentials, site, { checkParts, renderMetrics: metrics }),
        ...(clicks === undefined
          ? []
          : [
              ...statsRoutes({ links, reports: clicks.reports, minuteDays: config.minuteDays }),
              ...clickRoutes({ links, reports: clicks.reports }),
            ]),
      ],
    }),
  });

  const stop = (): Promise<void> =>
    takeAll([
      // A live view has no end of its own.
      () => clicks?.reports.watchers.endAll(),
      () => stopServer(server, systemClock),
      () => clicks?.close(),
      () => resolving.stop(),
      stopMaintenance,
      () => codes.generator.close(),
      () => stores.links.close(),
      () => log.flush(),
    ]);
  // Only a server that has its port makes or changes keys: one that cannot start would take them to its grave.
  const { newKey } = await credentials.setUpAdmin(config.adminKey).catch(async error => {
    await stop();
    throw error;
  });
  return {
    server,
    baseUrl: config.sources.baseUrl === 'default' ? `http://localhost:${server.port}` : config.baseUrl,
    newAdminKey: newKey,
    stop,
  };
}

function apiRoutes(
  links: LinkContext,
  credentials: Credentials,
  { baseUrl }: Site,
  system: Parameters<typeof systemRoutes>[0],
) {
  const options = { links, baseUrl };
  return [
    ...linkRoutes(options),
    bulkRoute(options),
    qrRoute(options),
    ...keyRoutes(credentials),
    ...systemRoutes(system),
  ];
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
function pathOf(request: Request | undefined): string | undefined {
  return request === undefined ? undefined : URL.parse(request.url)?.pathname.slice(0, 200);
}
