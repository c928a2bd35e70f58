import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import type { GaugeRule, Metric } from './metrics.ts';
import { mergeMetrics, onlyCounters } from './metrics-merge.ts';

const counter = (name: string, samples: Metric['samples']): Metric => ({
  name,
  help: 'Help.',
  type: 'counter',
  samples,
});

const gauge = (value: number, across?: GaugeRule): Metric => ({
  name: 'level',
  help: 'Level.',
  type: 'gauge',
  ...(across !== undefined && { across }),
  samples: [{ value }],
});

describe('the metrics of several processes', () => {
  test('are those of one process when there is only one', () => {
    const alone = [counter('a_total', [{ labels: { kind: 'x' }, value: 3 }]), gauge(7, 'average')];
    expect(mergeMetrics([alone])).toEqual(alone);
  });

  test('add up counters by their labels, whatever order those are in', () => {
    const one = counter('a_total', [
      { labels: { route: 'read', status: 200 }, value: 3 },
      { labels: { route: 'read', status: 404 }, value: 1 },
    ]);
    const other = counter('a_total', [
      { labels: { status: '200', route: 'read' }, value: 4 },
      { labels: { route: 'list', status: 200 }, value: 5 },
    ]);
    expect(mergeMetrics([[one], [other]])).toEqual([
      counter('a_total', [
        { labels: { route: 'read', status: 200 }, value: 7 },
        { labels: { route: 'read', status: 404 }, value: 1 },
        { labels: { route: 'list', status: 200 }, value: 5 },
      ]),
    ]);
  });

  test('have what only some of them have, in the order of its first appearance', () => {
    const merged = mergeMetrics([
      [counter('b_total', [{ value: 1 }])],
      [counter('a_total', [{ value: 2 }]), counter('b_total', [{ value: 3 }])],
    ]);
    expect(merged.map(({ name, samples }) => [name, samples[0]?.value])).toEqual([
      ['b_total', 4],
      ['a_total', 2],
    ]);
  });

  test.each([
    ['sum', 9],
    ['max', 6],
    ['min', 1],
    ['average', 3],
    [undefined, 6],
  ] as const)('merge a gauge by the rule it declares (%s)', (rule, expected) => {
    const [level] = mergeMetrics([[gauge(2, rule)], [gauge(1, rule)], [gauge(6, rule)]]);
    expect(level?.samples).toEqual([{ value: expected }]);
  });

  test.each(['sum', 'max', 'min', 'average'] as const)(
    'leave out what was never measured, unless nobody has (%s)',
    rule => {
      const unmeasured = gauge(Number.NaN, rule);
      expect(mergeMetrics([[unmeasured], [gauge(4, rule)]])[0]?.samples).toEqual([{ value: 4 }]);
      expect(mergeMetrics([[unmeasured], [unmeasured]])[0]?.samples).toEqual([{ value: Number.NaN }]);
    },
  );

  test('are the same when some were merged before', () => {
    const parts = fc.array(
      fc.array(fc.record({ kind: fc.constantFrom('x', 'y', 'z'), value: fc.nat(1_000) }), { maxLength: 4 }),
      { minLength: 1, maxLength: 5 },
    );
    const total = (metrics: readonly Metric[]): Record<string, number> =>
      Object.fromEntries(
        metrics.flatMap(({ samples }) => samples.map(({ labels, value }) => [labels?.kind, value])),
      );
    fc.assert(
      fc.property(parts, fc.nat(4), (processes, cut) => {
        const metrics = processes.map(samples => [
          counter(
            'a_total',
            samples.map(({ kind, value }) => ({ labels: { kind }, value })),
          ),
        ]);
        const before = mergeMetrics(metrics.slice(0, cut));
        expect(total(mergeMetrics([before, ...metrics.slice(cut)]))).toEqual(total(mergeMetrics(metrics)));
      }),
    );
  });
});

test('of a process that is gone, its counters stay', () => {
  const counted = counter('a_total', [{ value: 1 }]);
  expect(onlyCounters([gauge(5), counted])).toEqual([counted]);
});
