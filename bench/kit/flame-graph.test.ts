import { expect, test } from 'bun:test';
import { type CpuProfile, flamesOf, renderFlames } from './flame-graph.ts';

const node = (id: number, functionName: string, children: readonly number[] = []) => ({
  id,
  callFrame: { functionName, url: 'file:///x/src/a/b.ts', lineNumber: 1 },
  children,
});

/** `serve` calls `find` from two places; the thread waits before the last sample. */
const profile: CpuProfile = {
  nodes: [
    node(1, '(root)', [2, 5]),
    node(2, 'serve', [3, 4]),
    node(3, 'find'),
    node(4, 'find'),
    node(5, '<tick>'),
  ],
  samples: [2, 3, 4, 5],
  timeDeltas: [1_000, 500, 500, 900_000],
};

test('a function is as wide as the time in it and above it, without the time in which its thread waited', () => {
  const root = flamesOf(profile);
  expect(root.us).toBe(3_500);
  const serve = root.above.get('serve a/b.ts')!;
  expect(serve.us).toBe(2_000);
  expect([...serve.above.values()].map(({ name, us }) => [name, us])).toEqual([['find a/b.ts', 1_000]]);
});

test('names are shown as text', () => {
  const svg = renderFlames(flamesOf(profile), 'one & all');
  expect(svg).toContain('one &amp; all: 4 ms busy');
  expect(svg).toContain('&lt;tick&gt; a/b.ts: 42.9%, 1.5 ms');
  expect(svg).not.toContain('<tick>');
});
