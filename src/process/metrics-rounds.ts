/**
 * The metrics of all workers, for whichever of them was asked. They are gathered in rounds: all workers are asked at
 * once; a worker that has not answered in time contributes only the counters of its last answer.
 *
 * Invariant: a counter never falls. A worker's counters are kept when it ends; otherwise a restart would look like a
 * counter reset, and a rate over it like work that was never done.
 */
import type { Clock } from '../base/clock.ts';
import type { GaugeRule, Metric, Sample } from '../telemetry/metrics.ts';
import type { SupervisorMessage } from './supervised.ts';

/** Less than a worker waits for all of it. */
const roundMaxMs = 400;

export interface Reporter {
  send(message: SupervisorMessage): void;
}

export interface Gathered<Asked> {
  readonly metrics: Metric[];
  readonly heard: ReadonlySet<Asked>;
}

interface Round<Asked> {
  readonly number: number;
  readonly missing: Set<Asked>;
  readonly heard: Set<Asked>;
  readonly gathered: Promise<Gathered<Asked>>;
  readonly end: () => void;
}

export class MetricsRounds<Asked extends Reporter = Reporter> {
  readonly #clock: Clock;
  readonly #latest = new Map<Asked, readonly Metric[]>();
  /** Counted by workers that have ended. */
  #departed: readonly Metric[] = [];
  #round: Round<Asked> | undefined;
  #rounds = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Callers that ask during a round share it. */
  gather(reporters: readonly Asked[]): Promise<Gathered<Asked>> {
    this.#round ??= this.#begin(reporters);
    return this.#round.gathered;
  }

  take(reporter: Asked, round: number | undefined, metrics: readonly Metric[]): void {
    this.#latest.set(reporter, metrics);
    if (this.#round?.number !== round) return;
    this.#round?.heard.add(reporter);
    this.#passOver(reporter);
  }

  /** It has ended. */
  forget(reporter: Asked): void {
    const latest = this.#latest.get(reporter);
    this.#latest.delete(reporter);
    if (latest !== undefined) this.#departed = mergeMetrics([this.#departed, onlyCounters(latest)]);
    this.#passOver(reporter);
  }

  /** No more answers are expected from it in this round. */
  #passOver(reporter: Asked): void {
    const round = this.#round;
    if (round?.missing.delete(reporter) && round.missing.size === 0) round.end();
  }

  #begin(reporters: readonly Asked[]): Round<Asked> {
    this.#rounds += 1;
    const { promise: gathered, resolve } = Promise.withResolvers<Gathered<Asked>>();
    const heard = new Set<Asked>();
    const end = (): void => {
      cancel();
      this.#round = undefined;
      resolve({ metrics: this.#merged(heard), heard });
    };
    const cancel = this.#clock.after(roundMaxMs, end);
    const round = { number: this.#rounds, missing: new Set(reporters), heard, gathered, end };
    for (const reporter of reporters) reporter.send({ kind: 'giveMetrics', round: round.number });
    return round;
  }

  #merged(heard: ReadonlySet<Asked>): Metric[] {
    const parts = [...this.#latest].map(([reporter, metrics]) =>
      heard.has(reporter) ? metrics : onlyCounters(metrics),
    );
    // Live workers first: they have the current help texts.
    return mergeMetrics([...parts, this.#departed]);
  }
}

/**
 * The metrics of several processes as if one had done all the work. Counters add up. How a gauge merges is up to its
 * declaration, because only that knows: the entries of caches add up, the age of a list that all of them have does not.
 * The worst of them, which is the largest unless it says otherwise, hides nothing.
 *
 * Invariant: what was never measured (NaN) changes no number that was.
 */
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

/** What remains of a process that has ended: its counters stay, its gauges do not. */
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
