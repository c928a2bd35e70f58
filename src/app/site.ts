/** What is served: the redirect and the routes of the API, made of the parts that compose.ts has put together. */
import type { Clock } from '../base/clock.ts';
import { createLinkClicks } from '../clicks/link-clicks.ts';
import type { ClientAddress } from '../http/client-address.ts';
import { createContinueTokens } from '../http/continue-token.ts';
import type { Identify } from '../http/identity.ts';
import { createMetricsAccess } from '../http/metrics-access.ts';
import { createRedirect, type RedirectHandler, type RedirectOptions } from '../http/redirect.ts';
import type { Route } from '../http/route.ts';
import { aliasRoute } from '../http/routes/aliases.ts';
import { bulkRoute } from '../http/routes/bulk.ts';
import { bulkEditRoutes } from '../http/routes/bulk-edit.ts';
import { clickRoutes } from '../http/routes/clicks.ts';
import { linkRoutes } from '../http/routes/links.ts';
import { qrRoute } from '../http/routes/qr.ts';
import { reconcileRoutes } from '../http/routes/reconcile.ts';
import { statsRoutes } from '../http/routes/stats.ts';
import { metricsRoute } from '../http/routes/system.ts';
import type { Site } from '../http/server.ts';
import { createVisitors } from '../http/visitors.ts';
import { createWarning } from '../http/warning.ts';
import type { LinkContext } from '../links/context.ts';
import type { LinkStore } from '../links/store.ts';
import type { AuditLog } from '../moderation/audit.ts';
import { type Metric, renderMetrics } from '../ops/metrics.ts';
import type { Resolver } from '../resolve/resolver.ts';
import type { Accounts } from './accounts.ts';
import type { Clicks } from './clicks.ts';
import type { Config } from './config.ts';
import type { Limits } from './limits.ts';
import type { LinkHealth } from './link-health.ts';
import type { Observing } from './observing.ts';

export interface RedirectParts {
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

export function redirectOf(site: Site, parts: RedirectParts): RedirectHandler {
  const { config, resolver, links, clicks, limits, observing, secret, clientAddress, clock, onFault } = parts;
  return createRedirect({
    ...site,
    admit: site.admitRedirect,
    recall: (code, nowMs) => resolver.recall(code, nowMs),
    resolve: code => resolver.resolve(code),
    visitorOf: createVisitors(clientAddress),
    record: (link, visitor, at, flags) => clicks?.recorder.record(link, visitor, at, flags),
    warning: createWarning(createContinueTokens(secret, clock), site.baseUrl),
    probing: limits.probing,
    limit: limits.redirects,
    async useClick(code) {
      const allowed = await links.useClick(code, clock.now());
      // Who is not counted is judged by the record in memory, which does not know of this click.
      resolver.invalidate(code);
      return allowed;
    },
    clock,
    expiredStatus: config.expiredStatus,
    edgeTtlS: config.edgeTtlS,
    edgeClicks: config.edgeClicks,
    robots: config.robots,
    onAnswer(status, startedMs, request) {
      const tookMs = clock.monotonicMs() - startedMs;
      observing.tally.countRedirect(status, tookMs);
      observing.logRedirect(request, status, tookMs);
    },
    onFault,
  });
}

export interface ApiParts {
  readonly config: Pick<Config, 'minuteDays'>;
  readonly links: LinkContext;
  readonly accounts: Accounts;
  readonly clicks: Clicks | undefined;
  readonly audit: AuditLog;
  readonly healthOf: LinkHealth['healthOf'];
}

export function apiRoutes(
  site: Site,
  { config, links, accounts, clicks, audit, healthOf }: ApiParts,
): Route[] {
  const { baseUrl, addressOf } = site;
  const linkClicks = clicks && {
    of: createLinkClicks(clicks.reports, links.clock),
    rank: clicks.reports.ranking,
  };
  const options = { links, baseUrl, addressOf, clicks: linkClicks };
  return [
    ...linkRoutes({ ...options, healthOf }),
    bulkRoute(options),
    ...bulkEditRoutes(options),
    qrRoute(options),
    aliasRoute(links),
    ...accounts.routes(site),
    ...(clicks === undefined
      ? []
      : [
          ...statsRoutes({ links, reports: clicks.reports, minuteDays: config.minuteDays }),
          ...clickRoutes({ links, reports: clicks.reports, audit }),
          ...reconcileRoutes({ reports: clicks.reports, clock: links.clock }),
        ]),
  ];
}

export interface MetricsParts {
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
        await identify({ auth: 'required', scope: 'admin' }, request).finally(() => admitted.end(true));
        return true;
      },
    }),
  ];
}
