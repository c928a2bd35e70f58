import { expect, test } from 'bun:test';
import { type DotsPlot, drawPlot, type LinesPlot } from './plot.ts';

const dots: DotsPlot = {
  kind: 'dots',
  name: 'ratios',
  title: 'Rate <beside> nginx & others',
  unit: 'times',
  scale: 'linear',
  series: ['rate', 'CPU'],
  rows: [
    { label: 'one link', dots: [{ value: 0.5, low: 0.4, high: 0.6 }, null] },
    { label: 'many "links"', dots: [null, { value: 1, low: 1, high: 1 }] },
  ],
  mark: { at: 1, label: 'nginx' },
};

const lines: LinesPlot = {
  kind: 'lines',
  name: 'soak',
  title: 'Memory',
  along: 'minutes',
  panels: [
    {
      unit: 'MiB',
      lines: [
        {
          name: 'resident',
          points: [
            [0, 100],
            [5, Number.NaN],
            [10, 50],
          ],
        },
      ],
    },
    {
      unit: 'ms',
      lines: [
        {
          name: 'p99',
          points: [
            [0, 1],
            [10, 2],
          ],
        },
      ],
    },
  ],
  marks: [{ at: 5, label: 'restart' }],
};

/** The attributes of all elements of a kind, in order. */
function attributesOf(svg: string, name: string): Record<string, string>[] {
  return [...svg.matchAll(new RegExp(`<${name} ([^>]*?)/?>`, 'g'))].map(([, list = '']) =>
    Object.fromEntries([...list.matchAll(/([\w-]+)="([^"]*)"/g)].map(([, key, value]) => [key, value])),
  );
}

test('what is written into a plot cannot become markup', () => {
  const svg = drawPlot(dots);
  expect(svg).toContain('<title>Rate &lt;beside&gt; nginx &amp; others</title>');
  expect(svg).toContain('many &quot;links&quot;');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});

test('a dot lies on the grid line of its figure, with its spread around it', () => {
  const svg = drawPlot(dots);
  const legendNames = 2;
  const [half, one] = attributesOf(svg, 'circle').slice(legendNames);
  const [mark] = attributesOf(svg, 'line').filter(line => line.class === 'mark');
  expect(one!.cx).toBe(mark!.x1!);
  expect([half!.class, one!.class]).toEqual(['f0', 'f1']);
  const [spread] = attributesOf(svg, 'line').filter(line => line.class === 'spread s0');
  expect(Number(spread!.x1) + Number(spread!.x2)).toBeCloseTo(2 * Number(half!.cx), 0);
  expect(Number(half!.cx)).toBeLessThan(Number(one!.cx));
  expect(Number(half!.cy)).toBeLessThan(Number(one!.cy));
});

test('a line rises with its figures and leaves out what could not be measured', () => {
  const svg = drawPlot(lines);
  const [memory, latency] = attributesOf(svg, 'polyline').map(({ points }) =>
    points!.split(' ').map(point => point.split(',').map(Number)),
  );
  expect(memory).toHaveLength(2);
  expect(memory![0]![1]!).toBeLessThan(memory![1]![1]!);
  expect(latency![0]![1]!).toBeGreaterThan(latency![1]![1]!);
  // The panels share one axis and do not overlap.
  expect(latency!.map(([x]) => x)).toEqual(memory!.map(([x]) => x));
  expect(latency![1]![1]!).toBeGreaterThan(memory![1]![1]!);
  const [mark] = attributesOf(svg, 'line').filter(line => line.class === 'mark');
  expect(Number(mark!.x1) * 2).toBeCloseTo(memory![0]![0]! + memory![1]![0]!, 0);
});

test.each([
  ['dots', { ...dots, rows: [] }],
  ['lines', { ...lines, panels: [{ unit: 's', lines: [{ name: 'a', points: [[1, 1] as const] }] }] }],
])('%s with next to nothing to show are still a picture', (_kind, plot) => {
  const svg = drawPlot(plot as DotsPlot | LinesPlot);
  expect(svg).toStartWith('<svg xmlns=');
  expect(svg).not.toMatch(/NaN|undefined|Infinity/);
});

test('a plot has colours for light and for dark', () => {
  expect(drawPlot(dots)).toContain('@media (prefers-color-scheme: dark)');
});
