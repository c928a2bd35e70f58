/** What machines ask: is it alive, is it ready, how is it doing, what can it do. */
import { Problem } from '../../base/errors.ts';
import { refusal } from '../problem.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { healthAnswer } from '../schemas.ts';

export interface SystemRoutesOptions {
  /** Whether this process should have visitors, and each part's name and whether it works now. */
  readonly readiness: () => Promise<{ isReady: boolean; parts: Readonly<Record<string, boolean>> }>;
}

export const metricsHeaders = { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' };

export function systemRoutes({ readiness }: SystemRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/health/live',
      name: 'readLiveness',
      summary: 'Whether the process runs',
      auth: 'none',
      isAlwaysAdmitted: true,
      answers: { 200: { description: 'It does.', schema: healthAnswer } },
      problems: [],
      handle: () => json({ status: 'ok' }),
    }),
    defineRoute({
      method: 'GET',
      path: '/health/ready',
      name: 'readReadiness',
      summary: 'Whether requests can be served',
      auth: 'none',
      isAlwaysAdmitted: true,
      answers: {
        200: {
          description: 'What this process needs for its role works; `parts` says what else does not.',
          schema: healthAnswer,
        },
        503: { description: 'A needed part is missing; `parts` says which.', schema: healthAnswer },
      },
      problems: [],
      async handle() {
        const { isReady, parts } = await readiness();
        const word = (works: boolean): string => (works ? 'ok' : 'unavailable');
        const shown = Object.fromEntries(Object.entries(parts).map(([name, works]) => [name, word(works)]));
        return json({ status: word(isReady), parts: shown }, isReady ? 200 : 503);
      },
    }),
  ];
}

export interface MetricsRouteOptions {
  readonly render: () => Promise<string>;
  /** Throws if the request carries a key that does not allow it. */
  readonly mayRead: (request: Request) => Promise<boolean>;
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
      return refusal(request, new Problem('not_found', { detail: 'There is no link here.' }));
    },
  });
}
