import { expect, test } from 'bun:test';
import { LabelledCounter, renderMetrics } from './metrics.ts';

test('metrics are written in the text exposition format, with labels escaped', () => {
  const counter = new LabelledCounter<string>();
  counter.add('a"b\\c\nd', 2);
  counter.add('a"b\\c\nd');
  const text = renderMetrics([
    { name: 'hits_total', help: 'Hits.', type: 'counter', samples: counter.samples('kind') },
    { name: 'level', help: 'Level.', type: 'gauge', samples: [{ value: Number.POSITIVE_INFINITY }] },
  ]);
  expect(text).toBe(
    '# HELP hits_total Hits.\n# TYPE hits_total counter\nhits_total{kind="a\\"b\\\\c\\nd"} 3\n' +
      '# HELP level Level.\n# TYPE level gauge\nlevel +Inf\n',
  );
});

test('the parts of a histogram are described once, as what they are together', () => {
  const part = (suffix: string, value: number) =>
    ({
      name: `wait_seconds_${suffix}`,
      histogram: 'wait_seconds',
      help: 'Waits.',
      type: 'counter',
      samples: [{ value }],
    }) as const;
  const text = renderMetrics([
    part('sum', 0.5),
    part('count', 2),
    { name: 'hits_total', help: 'Hits.', type: 'counter', samples: [{ value: 1 }] },
  ]);
  expect(text).toBe(
    '# HELP wait_seconds Waits.\n# TYPE wait_seconds histogram\nwait_seconds_sum 0.5\nwait_seconds_count 2\n' +
      '# HELP hits_total Hits.\n# TYPE hits_total counter\nhits_total 1\n',
  );
});
