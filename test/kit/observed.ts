/** The metrics that alerts and boards use, checked against the table of metrics; and the queries of the board. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type MetricRow, metricTable } from '../../src/telemetry/metric-table.ts';
import { namedIn } from './promql.ts';

/** Added by Prometheus itself to whatever it scrapes. */
const addedLabels = ['job', 'instance'];
const addedMetrics = ['up'];

const table: Readonly<Record<string, MetricRow>> = metricTable;

/** The labels of a metric as it is scraped; undefined when there is no such metric. */
export function labelsOf(scraped: string): readonly string[] | undefined {
  const row = table[scraped];
  if (row !== undefined && row.type !== 'histogram') return row.labels;
  const [, family = '', part] = /^(.*)_(bucket|sum|count)$/.exec(scraped) ?? [];
  if (table[family]?.type !== 'histogram') return undefined;
  return part === 'bucket' ? ['le'] : [];
}

/** Describes the names in a query that do not exist. */
export function unknownIn(query: string): string[] {
  const { selectors, grouping } = namedIn(query);
  const faults: string[] = [];
  const known = new Set(addedLabels);
  for (const { metric, labels } of selectors) {
    const own = addedMetrics.includes(metric) ? [] : labelsOf(metric);
    if (own === undefined) faults.push(`there is no metric ${metric}`);
    for (const label of own ?? []) known.add(label);
    for (const label of labels)
      if (![...addedLabels, ...(own ?? [])].includes(label)) faults.push(`${metric} has no label ${label}`);
  }
  for (const label of grouping) if (!known.has(label)) faults.push(`nothing here has the label ${label}`);
  if (selectors.length === 0) faults.push('it names no metric');
  return faults;
}

export interface BoardQuery {
  readonly panel: string;
  readonly query: string;
}

interface Board {
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly panels: readonly {
    readonly title: string;
    readonly targets?: readonly { readonly expr: string }[];
  }[];
}

export function boardQueries(): BoardQuery[] {
  return readBoard().panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr }) => ({ panel: title, query: leftOpen(expr) })),
  );
}

/** The events that are marked in all panels. */
export function boardEvents(): BoardQuery[] {
  return readBoard().annotations.list.map(({ name, expr }) => ({ panel: name, query: leftOpen(expr) }));
}

function readBoard(): Board {
  return JSON.parse(readFileSync(join(import.meta.dir, '../../deploy/grafana/terse.json'), 'utf8')) as Board;
}

/** The query for all jobs and instances. */
const leftOpen = (expr: string): string => expr.replaceAll('$job', '.*').replaceAll('$instance', '.*');
