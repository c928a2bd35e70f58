import { expect, test } from 'bun:test';
import type { ServerStatus } from '../api/types.ts';
import { gaugesOf } from './gauges.ts';

const look = (
  second: number,
  metrics: Record<string, number | [Record<string, string>, number][]>,
): ServerStatus => ({
  version: '1',
  at: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString(),
  startedAt: '2026-01-01T00:00:00.000Z',
  parts: {},
  metrics: Object.entries(metrics).map(([name, value]) => ({
    name,
    help: '',
    type: 'counter',
    samples: (typeof value === 'number' ? [[{}, value] as const] : value).map(([labels, sample]) => ({
      labels,
      value: sample,
    })),
  })),
});
const gauge = (name: string, scrapes: readonly ServerStatus[]) =>
  gaugesOf(scrapes).find(each => each.name === name);

test('a rate is the difference of two scrapes over the time between them, over all labels', () => {
  const at = (second: number, count: number) =>
    look(second, {
      url_redirects_total: [
        [{ status: '302' }, count],
        [{ status: '404' }, 2 * count],
      ],
    });
  expect(gauge('redirects', [at(0, 10), at(2, 30)])?.text).toBe('30/s');
  expect(gauge('redirects', [at(0, 10)])?.text).toBe('…');
});

test('a process that restarts its counters has no rate for a moment, rather than a negative one', () => {
  const at = (second: number, count: number) => look(second, { url_redirects_total: count });
  expect(gauge('redirects', [at(0, 10), at(2, 3), at(4, 5)])?.history).toEqual([1]);
});

test('a value that would raise an alert is marked', () => {
  expect(gauge('pool', [look(0, { kgs_available_keys: 10 })])?.state).toBe('warning');
  expect(gauge('pool', [look(0, { kgs_available_keys: 10_000 })])?.state).toBe('calm');
});

test('an unknown level is not shown as 0', () => {
  const [unknown, known] = [
    look(0, { terse_clicks_drift_ratio: [] }),
    look(2, { terse_clicks_drift_ratio: 0 }),
  ];
  expect([gauge('drift', [unknown])?.text, gauge('drift', [unknown, known])?.text]).toEqual(['…', '0%']);
});

test('a metric that the server does not have gets no gauge; a histogram is shown by its bounds', () => {
  expect(gauge('latency', [look(0, {})])).toBeUndefined();
  const buckets: [Record<string, string>, number][] = [
    [{ le: '0.001' }, 50],
    [{ le: '0.01' }, 99],
    [{ le: '+Inf' }, 100],
  ];
  const seen = [look(0, { redirect_latency_seconds_bucket: buckets })];
  expect([gauge('latencyMedian', seen)?.text, gauge('latency', seen)?.text]).toEqual(['1 ms', '10 ms']);
});

test('latency is that of requests since the previous scrape, not of all time', () => {
  const at = (second: number, quick: number, all: number) =>
    look(second, {
      redirect_latency_seconds_bucket: [
        [{ le: '0.001' }, quick],
        [{ le: '0.1' }, all],
        [{ le: '+Inf' }, all],
      ],
    });
  const seen = [at(0, 1_000, 1_000), at(2, 1_001, 1_011), at(4, 1_001, 1_011)];
  expect(gauge('latency', seen)?.history).toEqual([0.001, 0.1]);
});
