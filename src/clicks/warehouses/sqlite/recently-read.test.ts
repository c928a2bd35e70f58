import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { Chunk, chunkRowsMax } from './chunk.ts';
import { packColumn, packText } from './columns.ts';
import { DaySummary } from './day-summary.ts';
import { RecentlyRead } from './recently-read.ts';

interface Value {
  readonly name: string;
  readonly cost: number;
}

test('what was not read for the longest time makes room, and nothing is kept beyond the room there is', () => {
  const database = new Database(':memory:');
  const recent = new RecentlyRead<Value>(({ cost }) => cost, 10);
  let read: string[] = [];
  const get = (name: string, cost = 4, of = database): Value | undefined =>
    recent.get(of, name, () => {
      read.push(name);
      return cost === 0 ? undefined : { name, cost };
    });
  const readOf = (...names: string[]): string[] => {
    read = [];
    for (const name of names) expect(get(name)?.name).toBe(name);
    return read;
  };
  expect(readOf('a', 'b', 'a', 'c')).toEqual(['a', 'b', 'c']);
  expect(readOf('a', 'c', 'b')).toEqual(['b']);
  // Too large by itself: it is answered, and takes the place of nothing.
  expect(get('large', 11)).toEqual({ name: 'large', cost: 11 });
  expect(readOf('c', 'b', 'large')).toEqual(['large']);
  // Nothing is not remembered, and other files have values of their own.
  read = [];
  expect([get('none', 0), get('none', 0)]).toEqual([undefined, undefined]);
  const other = new Database(':memory:');
  get('b', 4, other);
  expect(read).toEqual(['none', 'none', 'b']);
  other.close();
  database.close();
});

test('memory is bounded by what things take once they are unpacked, however few bytes they are stored in', () => {
  const few = new Uint8Array(4);
  const summary = new DaySummary({ minutes: few, whole: few, visitors: few }, () => {
    throw new Error('not asked for');
  });
  // An object, its arrays and their texts.
  expect(summary.memoryBytes).toBeGreaterThan(10_000);
  const packed = packColumn(new Uint32Array(chunkRowsMax), chunkRowsMax);
  const columns = { at: packed, kind: packed, token: packed, agent: packed, referrer: packed };
  const chunk = new Chunk({ ...columns, place: packed, visit: packed, lists: packText('') });
  expect(packed.length).toBeLessThan(1_000);
  expect(chunk.memoryBytes).toBeGreaterThan(6 * 4 * chunkRowsMax);
});
