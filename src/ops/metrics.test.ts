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
