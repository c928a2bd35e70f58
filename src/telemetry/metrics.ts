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
