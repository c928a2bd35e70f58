/** What a metric is, apart from its numbers, and the short ways to write it down. */
import type { GaugeRule } from '../../ops/metrics.ts';

export interface MetricRow {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly help: string;
  /** The names of its labels; each of its samples has all of them. */
  readonly labels: readonly string[];
  /** What a gauge is of several processes; the worst hides nothing, and that is mostly the largest. */
  readonly across: GaugeRule;
}

export const counter = (help: string, ...labels: readonly string[]): MetricRow => ({
  type: 'counter',
  help,
  labels,
  across: 'sum',
});

export const gauge = (across: GaugeRule, help: string, ...labels: readonly string[]): MetricRow => ({
  type: 'gauge',
  help,
  labels,
  across,
});

export const histogram = (help: string): MetricRow => ({
  type: 'histogram',
  help,
  labels: [],
  across: 'sum',
});
