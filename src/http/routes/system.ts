/** What machines ask: is it alive, is it ready, how is it doing, what can it do. */
import { defineRoute, json, type Route } from '../route.ts';
import { healthAnswer } from '../schemas.ts';

export interface SystemRoutesOptions {
  /** Whether this process should have visitors, and each part's name and whether it works now. */
  readonly readiness: () => Promise<{ isReady: boolean; parts: Readonly<Record<string, boolean>> }>;
  readonly renderMetrics: () => Promise<string>;
}

export function systemRoutes({ readiness, renderMetrics }: SystemRoutesOptions): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/health/live',
      name: 'readLiveness',
      summary: 'Whether the process runs',
      auth: 'none',
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
    defineRoute({
      method: 'GET',
      path: '/metrics',
      name: 'readMetrics',
      summary: 'Metrics for Prometheus',
      auth: 'none',
      answers: { 200: { description: 'The text exposition format.', mediaTypes: ['text/plain'] } },
      problems: [],
      handle: async () =>
        new Response(await renderMetrics(), {
          headers: { 'Content-Type': 'text/plain; version=0.0.4; charset=utf-8' },
        }),
    }),
  ];
}
