/** What machines ask: is it alive, is it ready, how is it doing, what can it do. */
import { defineRoute, json, type Route } from '../route.ts';
import { healthAnswer } from '../schemas.ts';

export interface SystemRoutesOptions {
  /** Each part's name and whether it works now. */
  readonly checkParts: () => Promise<Record<string, boolean>>;
  readonly renderMetrics: () => Promise<string>;
}

export function systemRoutes({ checkParts, renderMetrics }: SystemRoutesOptions): Route[] {
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
        200: { description: 'Every needed part works.', schema: healthAnswer },
        503: { description: 'A part is missing; `parts` says which.', schema: healthAnswer },
      },
      problems: [],
      async handle() {
        const parts = Object.entries(await checkParts());
        const ready = parts.every(([, works]) => works);
        const shown = Object.fromEntries(parts.map(([name, works]) => [name, works ? 'ok' : 'unavailable']));
        return json({ status: ready ? 'ok' : 'unavailable', parts: shown }, ready ? 200 : 503);
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
