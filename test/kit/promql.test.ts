import { describe, expect, test } from 'bun:test';
import { namedIn } from './promql.ts';

const metricsIn = (query: string): string[] => namedIn(query).selectors.map(({ metric }) => metric);

describe('what a query names', () => {
  test('are metrics, not functions, ranges, numbers or words of the language', () => {
    const query =
      'histogram_quantile(0.99, sum by (job, le) (rate(a_bucket[5m]))) > 0.2 and b_total offset 5m < 7 * 86400';
    expect(metricsIn(query)).toEqual(['a_bucket', 'b_total']);
    expect(namedIn(query).grouping).toEqual(['job', 'le']);
  });

  test('are the labels it matches by, whatever they are compared with', () => {
    expect(namedIn('sum(rate(a_total{status=~"5..", kind!="a(b)"}[5m])) / b').selectors).toEqual([
      { metric: 'a_total', labels: ['status', 'kind'], text: 'a_total{status=~"5..", kind!="a(b)"}' },
      { metric: 'b', labels: [], text: 'b' },
    ]);
  });
});
