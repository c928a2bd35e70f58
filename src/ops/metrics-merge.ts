/**
 * The metrics of several processes as if one had done all the work. Counters add up. What a gauge is of many is for
 * its declaration to say, because nobody else knows: the entries of caches add up, the age of a list that all of
 * them have does not. The worst of them, which is the largest unless it says otherwise, hides nothing.
 *
 * Invariant: what was never measured (NaN) changes no number that was.
 */
import type { GaugeRule, Metric, Sample } from './metrics.ts';

interface Merged {
  readonly metric: Metric;
  /** By their labels, which are in any order. */
  readonly values: Map<string, { readonly sample: Sample; readonly all: number[] }>;
}

/** In the order in which names and labels first appear. */
export function mergeMetrics(parts: readonly (readonly Metric[])[]): Metric[] {
  const merged = new Map<string, Merged>();
  for (const metric of parts.flat()) {
    let known = merged.get(metric.name);
    if (known === undefined) {
      known = { metric, values: new Map() };
      merged.set(metric.name, known);
    }
    for (const sample of metric.samples) {
      const labels = labelsKey(sample);
      const found = known.values.get(labels);
      if (found === undefined) known.values.set(labels, { sample, all: [sample.value] });
      else found.all.push(sample.value);
    }
  }
  return [...merged.values()].map(({ metric, values }) => ({
    ...metric,
    samples: [...values.values()].map(({ sample, all }) => ({ ...sample, value: valueAcross(metric, all) })),
  }));
}

/** Of what a process has counted that is gone: what it was like is no longer so, what it did stays done. */
export function onlyCounters(metrics: readonly Metric[]): Metric[] {
  return metrics.filter(({ type }) => type !== 'gauge');
}

const rules: Readonly<Record<GaugeRule, (values: readonly number[]) => number>> = {
  sum: values => values.reduce((sum, value) => sum + value, 0),
  max: values => Math.max(...values),
  min: values => Math.min(...values),
  average: values => rules.sum(values) / values.length,
};

function valueAcross({ type, across = 'max' }: Metric, values: readonly number[]): number {
  const measured = values.filter(value => !Number.isNaN(value));
  if (measured.length === 0) return Number.NaN;
  return rules[type === 'gauge' ? across : 'sum'](measured);
}

function labelsKey({ labels = {} }: Sample): string {
  return JSON.stringify(
    Object.entries(labels)
      .map(([name, value]) => [name, String(value)])
      .sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  );
}
