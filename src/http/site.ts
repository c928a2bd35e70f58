/** The redirect and the routes of the API, built from the parts that compose.ts wires together. */
import type { OperatorEntryStore } from '../abuse/operator-entries.ts';
import type { Abuse } from '../abuse/start.ts';
import type { Accounts } from '../accounts/start.ts';
import type { Clock } from '../base/clock.ts';
import type { Clicks } from '../clicks/start.ts';
import { createLinkClicks } from '../clicks/stats.ts';
import type { Config } from '../config/config.ts';
import type { LinkHealth } from '../health/start.ts';
import type { Limits } from '../limits/start.ts';
import type { LinkContext } from '../links/context.ts';
import type { LinkStore } from '../links/store.ts';
import type { ModerationContext } from '../moderation/store.ts';
import type { Resolver } from '../resolve/resolver.ts';
import { type Metric, renderMetrics } from '../telemetry/metrics.ts';
import { type ClientAddress, createVisitors } from './client-address.ts';
import { createDeviceCookie, createIdentity, createSessionCookie, type Identify } from './identity.ts';
import { createMetricsAccess } from './metrics-port.ts';
import type { Observing } from './observing.ts';
import { createPlainRedirect } from './plain-redirect.ts';
import { createRedirect, type RedirectHandler, type RedirectOptions } from './redirect.ts';
import type { Route } from './route.ts';
import { accountRoutes, keyRoutes } from './routes/accounts.ts';
import { blocklistRoutes } from './routes/blocklist.ts';
import { bulkEditRoutes, bulkRoute } from './routes/bulk.ts';
import { clickRoutes } from './routes/clicks.ts';
import { aliasRoute, linkRoutes, qrRoute } from './routes/links.ts';
import { auditRoutes, moderationRoutes } from './routes/moderation.ts';
import { recentClickRoutes } from './routes/recent-clicks.ts';
import { reconcileRoutes } from './routes/reconcile.ts';
import { reportRoutes } from './routes/reports.ts';
import { sessionRoutes } from './routes/sessions.ts';
import { statsRoutes } from './routes/stats.ts';
import { metricsRoute } from './routes/system.ts';
import type { Site } from './server.ts';
import { createContinueTokens, createWarning } from './warning.ts';
import type { QuickAnswer } from './wire/connection-context.ts';

interface RedirectParts {
  readonly config: Config;
  readonly resolver: Resolver;
  readonly links: Pick<LinkStore, 'useClick'>;
  readonly clicks: Clicks | undefined;
  readonly limits: Limits;
  readonly observing: Pick<Observing, 'tally' | 'logRedirect'>;
  readonly secret: Uint8Array;
  readonly clientAddress: ClientAddress;
  readonly clock: Clock;
  readonly onFault: RedirectOptions['onFault'];
}

export function redirectOf(
  site: Site,
  parts: RedirectParts,
): { readonly redirect: RedirectHandler; readonly quick: QuickAnswer | undefined } {
  const { config, resolver, links, clicks, limits, observing, secret, clientAddress, clock, onFault } = parts;
  const visitorOf = createVisitors(clientAddress);
  const onAnswer: RedirectOptions['onAnswer'] = (status, startedMs, request) => {
    const tookMs = clock.monotonicMs() - startedMs;
    observing.tally.countRedirect(status, tookMs);
    observing.logRedirect(request, status, tookMs);
  };
  const plain = limits.redirects.isOff
    ? createPlainRedirect({
        config,
        resolver,
        record: (entry, visitor, at, flags, query) =>
          clicks?.recorder.recordEntry(resolver.memory, entry, visitor, at, flags, query),
        visitorOf,
        clock,
        onAnswer,
        onFault: error => onFault(error, undefined),
      })
    : undefined;
  const redirect = createRedirect({
    ...site,
    plain,
    admit: site.admitRedirect,
    recall: (code, nowMs) => resolver.recall(code, nowMs),
    recallStale: code => resolver.recallStale(code),
    ask: code => resolver.ask(code),
    visitorOf,
    record: (link, visitor, at, flags, query) => clicks?.recorder.record(link, visitor, at, flags, query),
    warning: createWarning(createContinueTokens(secret, clock), site.baseUrl),
    probing: limits.probing,
    limit: limits.redirects,
    async useClick(code) {
      const allowed = await links.useClick(code, clock.now());
      // Requests that use no click are decided by the record in memory, which does not include this one.
      resolver.invalidate(code);
      return allowed;
    },
    clock,
    config,
    onAnswer,
    onFault,
  });
  return { redirect, quick: plain?.quick };
}

/** Determines the caller of a request. */
export const identityOf = (
  { baseUrl }: Pick<Config, 'baseUrl'>,
  { credentials, sessions }: Accounts,
): Identify => createIdentity({ credentials, sessions, cookie: createSessionCookie(baseUrl) });

interface ApiParts {
  readonly config: Pick<Config, 'minuteDays' | 'clickDays' | 'baseUrl'>;
  readonly links: LinkContext;
  readonly accounts: Accounts;
  readonly clicks: Clicks | undefined;
  readonly abuse: Pick<Abuse, 'lists'>;
  readonly blockEntries: OperatorEntryStore;
  readonly moderation: ModerationContext;
  readonly healthOf: LinkHealth['healthOf'];
  readonly secret: Uint8Array;
}

export function apiRoutes(
  site: Site,
  { config, links, accounts, clicks, abuse, blockEntries, moderation, healthOf, secret }: ApiParts,
): Route[] {
  const { baseUrl, addressOf } = site;
  const deviceCookie = createDeviceCookie(config.baseUrl);
  const linkClicks = clicks && {
    of: createLinkClicks(clicks.reports, links.clock),
    rank: clicks.reports.ranking,
  };
  const options = { links, baseUrl, addressOf, clicks: linkClicks };
  const readNames = accounts.members.names;
  return [
    ...linkRoutes({ ...options, healthOf }),
    bulkRoute(options),
    ...bulkEditRoutes(options),
    qrRoute(options),
    aliasRoute(links),
    ...keyRoutes(accounts.keys),
    ...accountRoutes({ ...accounts, deviceCookie, site }),
    ...sessionRoutes({ ...accounts, cookie: createSessionCookie(config.baseUrl), deviceCookie, site }),
    ...(clicks === undefined
      ? []
      : [
          ...statsRoutes({
            links,
            reports: clicks.reports,
            minuteDays: Math.min(config.minuteDays, config.clickDays),
            secret,
            baseUrl,
          }),
          ...recentClickRoutes({ links, reports: clicks.reports }),
          ...clickRoutes({ links, reports: clicks.reports, audit: moderation.audit }),
          ...reconcileRoutes({ reports: clicks.reports, clock: links.clock }),
        ]),
    ...blocklistRoutes({ entries: blockEntries, lists: abuse.lists, clock: links.clock }),
    ...reportRoutes({ moderation, addressOf }),
    ...moderationRoutes({ moderation, readNames, baseUrl }),
    ...auditRoutes({ moderation, readNames }),
  ];
}

interface MetricsParts {
  readonly config: Pick<Config, 'metrics' | 'metricsNetworks'>;
  readonly identify: Identify;
  readonly metrics: () => Promise<readonly Metric[]>;
}

/** Metrics for the clients that the settings allow, and for admin keys from anywhere. */
export function metricsRoutes(site: Site, { config, identify, metrics }: MetricsParts): Route[] {
  if (config.metrics === 'off') return [];
  const isNear = createMetricsAccess(config.metricsNetworks);
  return [
    metricsRoute({
      render: async () => renderMetrics(await metrics()),
      async mayRead(request) {
        const { headers } = request;
        if (config.metrics === 'public' || isNear(site.peerOf(request), headers)) return true;
        if (!headers.has('authorization') && !headers.has('x-api-key')) return false;
        // Checking a key reads the store, like any API call.
        const admitted = site.admit({ method: 'GET' }, request);
        try {
          await identify({ auth: 'required', scope: 'admin' }, request);
        } finally {
          admitted.end(true);
        }
        return true;
      },
    }),
  ];
}
