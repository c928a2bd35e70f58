import type { Clock } from '../base/clock.ts';

/**
 * Prometheus text, written at scrape time from numbers that live where the work happens. Counting is `n += 1`
 * on a plain field; nothing here runs per request.
 */
export interface Metric {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge';
  /**
   * The histogram that this is a part of. Its three parts follow each other and are counters, so whatever holds for
   * counters, such as how those of several processes add up, holds for them.
   */
  readonly histogram?: string;
  /** What a gauge is of several processes; see process/metrics-rounds.ts. */
  readonly across?: GaugeRule;
  readonly samples: readonly Sample[];
}

export type GaugeRule = 'sum' | 'max' | 'min' | 'average';

export interface Sample {
  readonly labels?: Readonly<Record<string, string | number>>;
  readonly value: number;
}

export function renderMetrics(metrics: readonly Metric[]): string {
  const lines: string[] = [];
  let described: string | undefined;
  for (const { name, help, type, histogram, samples } of metrics) {
    const family = histogram ?? name;
    if (family !== described)
      lines.push(
        `# HELP ${family} ${help}`,
        `# TYPE ${family} ${histogram === undefined ? type : 'histogram'}`,
      );
    described = family;
    for (const { labels = {}, value } of samples)
      lines.push(`${name}${renderLabels(labels)} ${renderNumber(value)}`);
  }
  return `${lines.join('\n')}\n`;
}

function renderLabels(labels: Readonly<Record<string, string | number>>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escapeLabel(String(value))}"`);
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`;
}

function escapeLabel(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n');
}

function renderNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
}

/** A counter by label value, for labels with few values such as a status. */
export class LabelledCounter<Label extends string | number> {
  readonly #counts = new Map<Label, number>();

  add(label: Label, amount = 1): void {
    this.#counts.set(label, (this.#counts.get(label) ?? 0) + amount);
  }

  samples(labelName: string): Sample[] {
    return [...this.#counts].map(([label, value]) => ({ labels: { [labelName]: label }, value }));
  }
}

/**
 * How long things took, as counts between fixed bounds. Recording one is a few comparisons and two additions, because
 * it happens for every redirect; what Prometheus needs is computed at scrape time.
 *
 * The bounds are the same everywhere and in every version: histograms of several processes can only be added up, and
 * compared over time, when they are. They lie closest where promises are made (10, 30, 50, 100 and 200 ms); the first
 * holds what was answered from memory.
 */

export const boundsSeconds = [
  0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1, 2.5, 5, 10,
] as const;

const boundsMs = boundsSeconds.map(seconds => seconds * 1_000);

export class Histogram {
  /** One more than there are bounds: what lies beyond the last is counted too. */
  readonly #counts = new Float64Array(boundsMs.length + 1);
  #sumMs = 0;

  note(milliseconds: number): void {
    let place = 0;
    while (place < boundsMs.length && milliseconds > boundsMs[place]!) place += 1;
    this.#counts[place]! += 1;
    this.#sumMs += milliseconds;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  get sumSeconds(): number {
    return this.#sumMs / 1_000;
  }

  /** For each bound how many lie at or below it, as Prometheus counts. */
  buckets(): Sample[] {
    let below = 0;
    return Array.from(this.#counts, (count, place) => {
      below += count;
      return { labels: { le: boundsSeconds[place] ?? '+Inf' }, value: below };
    });
  }
}

/**
 * How late this process runs its timers. A request waits about as long in the socket before it is read, which no clock
 * inside the handler can see: under overload, or behind a long piece of work, this is where time goes.
 */
interface LoopDelay {
  readonly delays: Histogram;
  stop(): void;
}

const periodMs = 100;

export function watchLoopDelay(clock: Clock): LoopDelay {
  const delays = new Histogram();
  let dueMs = clock.monotonicMs() + periodMs;
  const stop = clock.every(periodMs, () => {
    const nowMs = clock.monotonicMs();
    delays.note(Math.max(0, nowMs - dueMs));
    dueMs = nowMs + periodMs;
  });
  return { delays, stop };
}
