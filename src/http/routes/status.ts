/** How the server is doing, for those who run it: the numbers of a scrape, as JSON. */
import type { Clock } from '../../base/clock.ts';
import type { Metric } from '../../ops/metrics.ts';
import { isoTime } from '../link-view.ts';
import { defineRoute, json, type Route } from '../route.ts';
import { statusAnswer } from '../schemas.ts';

export interface StatusRouteOptions {
  readonly version: string;
  readonly startedAt: number;
  readonly readiness: () => Promise<{ parts: Readonly<Record<string, boolean>> }>;
  readonly metrics: () => Promise<readonly Metric[]>;
  readonly clock: Clock;
}

export function statusRoute({ version, startedAt, readiness, metrics, clock }: StatusRouteOptions): Route {
  return defineRoute({
    method: 'GET',
    path: '/api/v1/status',
    name: 'readStatus',
    summary: 'How the server is doing',
    description: 'What `/metrics` has, as JSON; a rate is the difference of two answers. For admins.',
    auth: 'required',
    scope: 'admin',
    limit: 'read',
    answers: { 200: { description: 'The numbers.', schema: statusAnswer } },
    problems: [],
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
            // JSON has no word for what was never measured.
            value: Number.isFinite(value) ? value : null,
          })),
        })),
      }),
  });
}
