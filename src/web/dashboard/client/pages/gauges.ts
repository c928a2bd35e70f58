/** Turns the server's counters into the few numbers an operator needs. Pure; a rate needs two scrapes. */
import { texts } from '../../texts.ts';
import type { ServerStatus } from '../api/types.ts';
import { formatNumber, perLanguage } from '../format.ts';

export interface Gauge {
  readonly name: string;
  readonly label: string;
  readonly text: string;
  readonly help: string;
  readonly history: readonly number[];
  readonly state: 'calm' | 'warning';
}

interface Reading {
  readonly metric: string;
  readonly at: (scrapes: readonly ServerStatus[], at: number) => number | undefined;
}

interface GaugeKind {
  readonly name: keyof typeof texts.operations.gauges;
  readonly read: Reading;
  readonly show: (value: number) => string;
  /** Where an alert would be raised. */
  readonly isBad?: (value: number) => boolean;
}

const oneDecimal = perLanguage(locale => new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }));
const percents = perLanguage(
  locale => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 2 }),
);
const percent = (share: number): string => percents().format(share);
const milliseconds = (seconds: number): string => `${oneDecimal().format(seconds * 1_000)} ms`;

const kinds: readonly GaugeKind[] = [
  { name: 'redirects', read: rate('url_redirects_total'), show: perSecond },
  {
    name: 'latencyMedian',
    read: quantile('redirect_latency_seconds', 0.5),
    show: milliseconds,
  },
  {
    name: 'latency',
    read: quantile('redirect_latency_seconds', 0.99),
    show: milliseconds,
    isBad: seconds => seconds > 0.2,
  },
  { name: 'hitRatio', read: level('cache_hit_ratio'), show: percent },
  { name: 'pool', read: level('kgs_available_keys'), show: formatNumber, isBad: keys => keys < 1_000 },
  { name: 'api', read: rate('terse_api_answers_total'), show: perSecond },
  { name: 'clicks', read: rate('terse_clicks_counted_total'), show: perSecond },
  {
    name: 'lag',
    read: level('terse_clicks_lag_seconds'),
    show: seconds => `${oneDecimal().format(seconds)} s`,
    isBad: seconds => seconds > 60,
  },
  {
    name: 'drift',
    read: level('terse_clicks_drift_ratio'),
    show: percent,
    isBad: ratio => ratio > 0.001,
  },
  { name: 'settling', read: level('terse_clicks_settling_hours'), show: formatNumber },
  {
    name: 'dropped',
    read: level('terse_clicks_dropped_total'),
    show: formatNumber,
    isBad: count => count > 0,
  },
];

export function gaugesOf(scrapes: readonly ServerStatus[]): Gauge[] {
  return kinds.flatMap(({ name, read, show, isBad }) => {
    // A metric that the server does not have gets no gauge.
    if (!scrapes.at(-1)?.metrics.some(metric => metric.name === read.metric)) return [];
    const history = scrapes.map((_, at) => read.at(scrapes, at)).filter(value => value !== undefined);
    const latest = history.at(-1);
    const { label, help } = texts.operations.gauges[name];
    return [
      {
        name,
        label,
        help,
        history,
        text: latest === undefined ? '…' : show(latest),
        state: latest !== undefined && isBad?.(latest) ? ('warning' as const) : ('calm' as const),
      },
    ];
  });
}

function perSecond(value: number): string {
  return `${oneDecimal().format(value)}/s`;
}

/** The sum of all samples; undefined when there is no such metric. */
function sumOf(status: ServerStatus | undefined, name: string): number | undefined {
  const metric = status?.metrics.find(candidate => candidate.name === name);
  return metric?.samples.reduce((sum, { value }) => sum + (value ?? 0), 0);
}

function level(metric: string): Reading {
  // A level that is not known has no sample.
  const isKnown = (status: ServerStatus | undefined): boolean =>
    status?.metrics.some(({ name, samples }) => name === metric && samples.length > 0) ?? false;
  return { metric, at: (scrapes, at) => (isKnown(scrapes[at]) ? sumOf(scrapes[at], metric) : undefined) };
}

function rate(metric: string): Reading {
  return {
    metric,
    at(scrapes, at) {
      const [before, after] = [sumOf(scrapes[at - 1], metric), sumOf(scrapes[at], metric)];
      if (before === undefined || after === undefined) return undefined;
      const seconds = (Date.parse(scrapes[at]!.at) - Date.parse(scrapes[at - 1]!.at)) / 1_000;
      // A restarted process counts from zero.
      return seconds <= 0 || after < before ? undefined : (after - before) / seconds;
    },
  };
}

/** A quantile from a histogram's buckets: the bound below which this share of the values since the last sample lies. */
function quantile(name: string, share: number): Reading {
  const metric = `${name}_bucket`;
  return {
    metric,
    at(scrapes, at) {
      const [before, after] = [bucketsOf(scrapes[at - 1], metric), bucketsOf(scrapes[at], metric)];
      const buckets = [...after]
        .map(([bound, value]) => ({ bound, value: value - (before.get(bound) ?? 0) }))
        .sort((a, b) => a.bound - b.bound);
      const total = buckets.at(-1)?.value ?? 0;
      const found = buckets.find(({ value }) => value >= total * share)?.bound;
      // There were no values, or the process was restarted and counts from zero.
      return total <= 0 || found === undefined || !Number.isFinite(found) ? undefined : found;
    },
  };
}

function bucketsOf(status: ServerStatus | undefined, metric: string): Map<number, number> {
  const samples = status?.metrics.find(candidate => candidate.name === metric)?.samples ?? [];
  return new Map(
    samples.map(({ labels, value }) => [
      labels.le === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels.le),
      value ?? 0,
    ]),
  );
}
