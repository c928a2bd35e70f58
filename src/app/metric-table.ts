/**
 * Every metric of Terse, in one table: what it is called, what it says, its labels, and what it is of several
 * processes. Whatever shows numbers makes them with the functions below, so nothing is shown that the table does not
 * have, and `docs/operations/metrics.md` is printed from it.
 */
import type { Histogram } from '../ops/histogram.ts';
import type { Metric, Sample } from '../ops/metrics.ts';
import { clickMetrics } from './metric-rows/clicks.ts';
import { edgeMetrics } from './metric-rows/edge.ts';
import { engineMetrics } from './metric-rows/engines.ts';
import { linkMetrics } from './metric-rows/links.ts';
import type { MetricRow } from './metric-rows/metric-row.ts';
import { processMetrics } from './metric-rows/process.ts';
import { requestMetrics } from './metric-rows/requests.ts';

/** By what they are about, in the order in which the document has them. */
export const metricSections = {
  Requests: requestMetrics,
  Links: linkMetrics,
  Clicks: clickMetrics,
  'Caches in front': edgeMetrics,
  Engines: engineMetrics,
  Processes: processMetrics,
} as const satisfies Readonly<Record<string, Readonly<Record<string, MetricRow>>>>;

export const metricTable = {
  ...requestMetrics,
  ...linkMetrics,
  ...clickMetrics,
  ...edgeMetrics,
  ...engineMetrics,
  ...processMetrics,
} as const satisfies Readonly<Record<string, MetricRow>>;

export type MetricName = keyof typeof metricTable;

export function metric(name: MetricName, samples: readonly Sample[]): Metric {
  const { type, help, across }: MetricRow = metricTable[name];
  return { name, help, type: type === 'gauge' ? 'gauge' : 'counter', across, samples };
}

/** A metric without labels. */
export const oneValue = (name: MetricName, value: number): Metric => metric(name, [{ value }]);

/** A metric with one label, by the values of that. */
export function byLabel(name: MetricName, values: Readonly<Record<string, number>>): Metric {
  const [label = ''] = metricTable[name].labels;
  return metric(
    name,
    Object.entries(values).map(([key, value]) => ({ labels: { [label]: key }, value })),
  );
}

/** The three parts in which Prometheus wants a histogram. */
export function metricsOfHistogram(histogram: MetricName, durations: Histogram): Metric[] {
  const part = (suffix: string, samples: readonly Sample[]): Metric => ({
    ...metric(histogram, samples),
    name: `${histogram}_${suffix}`,
    histogram,
  });
  return [
    part('bucket', durations.buckets()),
    part('sum', [{ value: durations.sumSeconds }]),
    part('count', [{ value: durations.count }]),
  ];
}
