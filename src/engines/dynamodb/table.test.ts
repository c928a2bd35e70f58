import { expect, test } from 'bun:test';
import { partitionOf } from './queries.ts';

test('an id of any length makes a key that fits, and no two make the same', () => {
  const ids = ['', 'a', '#', 'x'.repeat(512), 'x'.repeat(513), 'x'.repeat(20_000), '😀'.repeat(200)];
  const keys = ids.map(id => partitionOf('kind', id));
  for (const key of keys) expect(Buffer.byteLength(key)).toBeLessThan(1_024);
  expect(new Set(keys).size).toBe(ids.length);
});
