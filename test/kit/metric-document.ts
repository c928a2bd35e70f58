/** The table of metrics as its document shows it. */
import { type MetricRow, metricSections } from '../../src/telemetry/metric-table.ts';

export function metricTables(): string {
  return Object.entries(metricSections)
    .map(([section, rows]) => [`## ${section}`, '', ...tableOf(rows)].join('\n'))
    .join('\n\n');
}

function tableOf(rows: Readonly<Record<string, MetricRow>>): string[] {
  const lines = Object.entries(rows).map(([name, { type, help, labels, across }]) => {
    const shown = labels.map(label => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${shown} | ${help} | ${type === 'gauge' ? across : 'sum'} |`;
  });
  return ['| Name | Type | Labels | Meaning | Across processes |', '|---|---|---|---|---|', ...lines];
}
