import { describe, expect, test } from 'bun:test';
import { clickMetrics } from '../clicks/metrics.ts';
import type { Clicks } from '../clicks/start.ts';
import { byLabel, metricSections, metricsOfHistogram, metricTable, oneValue } from './metric-table.ts';
import { Histogram, renderMetrics } from './metrics.ts';

const rows = Object.entries(metricTable);

describe('the table of metrics', () => {
  test('has every metric of every section, and none of them twice', () => {
    const names = Object.values(metricSections).flatMap(section => Object.keys(section));
    expect(names.toSorted()).toEqual(Object.keys(metricTable).toSorted());
  });

  test.each(rows)('%s is named as Prometheus wants it', (name, { type }) => {
    expect(name).toMatch(/^[a-z]+(?:_[a-z0-9]+)+$/);
    expect(name.endsWith('_total')).toBe(type === 'counter');
    if (type === 'histogram') expect(name).toEndWith('_seconds');
  });

  test.each(rows)('%s says what it is in a sentence of one line', (_name, { help }) => {
    expect(help).toMatch(/^[^\n\\|]+[.]$/);
  });
});

test('what is shown is described by the table', () => {
  const durations = new Histogram();
  durations.note(700);
  const text = renderMetrics([
    oneValue('terse_connections', 3),
    byLabel('terse_cache_lookups_total', { hit: 2, miss: 1 }),
    ...metricsOfHistogram('redirect_latency_seconds', durations),
  ]);
  expect(text).toContain('# TYPE terse_connections gauge\nterse_connections 3\n');
  expect(text).toContain('terse_cache_lookups_total{result="hit"} 2\n');
  expect(text).toContain(
    '# TYPE redirect_latency_seconds histogram\nredirect_latency_seconds_bucket{le="0.0005"} 0\n',
  );
  expect(text).toContain(
    'redirect_latency_seconds_bucket{le="0.5"} 0\nredirect_latency_seconds_bucket{le="1"} 1\n',
  );
  expect(text).toContain('redirect_latency_seconds_sum 0.7\nredirect_latency_seconds_count 1\n');
});

test('a drift that is not known has no line', () => {
  const textOf = (latest: Partial<Clicks['latest']>): string => {
    const clicks = { recorder: { recorded: 0, dropped: 0 }, latest } as unknown as Clicks;
    return renderMetrics(clickMetrics(clicks));
  };
  const names = ['drift_ratio', 'settling_hours', 'hour_drift_ratio', 'drifting_hours'];
  const shown = (text: string) =>
    names.flatMap(name => text.match(new RegExp(`^terse_clicks_${name} .*`, 'm')) ?? []);
  expect(shown(textOf({}))).toEqual([]);
  expect(shown(textOf({ drift: 0, settlingHours: 1, hours: { worst: 0, drifting: 0 } }))).toEqual(
    names.map(name => `terse_clicks_${name} ${name === 'settling_hours' ? 1 : 0}`),
  );
});
