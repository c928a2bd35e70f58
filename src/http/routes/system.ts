/** Endpoints for machines: liveness, readiness, metrics, capabilities. */
import type { Clock } from '../../base/clock.ts';
import { Problem } from '../../base/errors.ts';
import type { Metric } from '../../telemetry/metrics.ts';
import type { ApiRequest } from '../api-request.ts';
import { isoTime } from '../link-view.ts';
import { refusal } from '../problem.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { healthAnswer, statusAnswer } from '../schemas.ts';

interface SystemRoutesOptions {
  /** Whether this process should receive traffic, and for each part its name and whether it works now. */
  readonly readiness: () => Promise<{ isReady: boolean; parts: Readonly<Record<string, boolean>> }>;
}

export const metricsHeaders = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };

export function systemRoutes({ readiness }: SystemRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/health/live',
      name: 'readLiveness',
      summary: 'Liveness',
      auth: 'none',
      isAlwaysAdmitted: true,
      answers: { 200: { description: 'It is ready.', schema: healthAnswer } },
      handle: () => json({ status: 'ok' }),
    }),
    defineRoute({
      method: 'GET',
      path: '/health/ready',
      name: 'readReadiness',
      summary: 'Readiness',
      auth: 'none',
      isAlwaysAdmitted: true,
      answers: {
        200: {
          description: 'Everything this process needs for its role works; `parts` lists the rest.',
          schema: healthAnswer,
        },
        503: { description: 'A required part is down; `parts` says which.', schema: healthAnswer },
      },
      async handle() {
        const { isReady, parts } = await readiness();
        const word = (works: boolean): string => (works ? 'ok' : 'unavailable');
        const shown = Object.fromEntries(Object.entries(parts).map(([name, works]) => [name, word(works)]));
        return json({ status: word(isReady), parts: shown }, isReady ? 200 : 503);
      },
    }),
  ];
}

interface MetricsRouteOptions {
  readonly render: () => Promise<string>;
  /** Throws if the request carries a key that does not allow it. */
  readonly mayRead: (request: ApiRequest) => Promise<boolean>;
}

export function metricsRoute({ render, mayRead }: MetricsRouteOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/metrics',
    name: 'readMetrics',
    summary: 'Metrics for Prometheus',
    description:
      'For programs on this machine and on the networks of `TERSE_METRICS_NETWORKS`; from anywhere else it takes the key of ' +
      'an admin. Everyone else gets 404.',
    auth: 'none',
    answers: { 200: { description: 'The text exposition format.', mediaTypes: ['text/plain'] } },
    problems: [
      'not_found',
      'unauthorized',
      'account_suspended',
      'forbidden',
      'store_unavailable',
      'overloaded',
    ],
    async handle({ request }) {
      if (await mayRead(request)) return new Response(await render(), { headers: metricsHeaders });
      return refusal(request, new Problem('not_found', { detail: 'Link not found.' }));
    },
  });
}

interface StatusRouteOptions {
  readonly version: string;
  readonly startedAt: number;
  readonly readiness: () => Promise<{ parts: Readonly<Record<string, boolean>> }>;
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly clock: Clock;
}

/** The state of the server for operators: the numbers of a scrape, as JSON. */
export function statusRoute({ version, startedAt, readiness, metrics, clock }: StatusRouteOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/status',
    name: 'readStatus',
    summary: 'Server status',
    description: 'What `/metrics` has, as JSON; a rate is the difference of two answers. For admins.',
    scope: 'admin',
    limit: 'read',
    answers: { 200: { description: 'The numbers.', schema: statusAnswer } },
    handle: async () =>
      json({
        version,
        at: isoTime(clock.now()),
        startedAt: isoTime(startedAt),
        parts: (await readiness()).parts,
        metrics: (await metrics()).map(({ name, help, type, samples }) => ({
          name,
          help,
          type,
          samples: samples.map(({ labels = {}, value }) => ({
            labels: Object.fromEntries(Object.entries(labels).map(([label, text]) => [label, String(text)])),
            // JSON has no value for what was never measured.
            value: Number.isFinite(value) ? value : null,
          })),
        })),
      }),
  });
}
