import { describe, expect, test } from 'bun:test';
import { sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { type Progress, partsByDays, planBlocks, tokenOf } from './block.ts';

const hourMs = 60 * 60_000;
const hour = Math.floor(samplesStart / hourMs) * hourMs;

function batch(
  partition: string,
  from: number,
  firstSequence: number,
  count: number,
  producer = 'p',
): LogBatch {
  const clicks = Array.from({ length: count }, () => ({ at: samplesStart }));
  return { partition, from, to: from + 1, producer, batch: sampleBatch(firstSequence, clicks) };
}

const nothing: Progress = { positions: new Map(), sequences: new Map() };
const rowsOf = (blocks: ReturnType<typeof planBlocks>): number[] =>
  blocks.flatMap(({ counted }) => counted.map(({ rows }) => rows.length));

describe('a block', () => {
  test('is made of neighbours in one partition, and named after its place', () => {
    const blocks = planBlocks([batch('a', 0, 1, 2), batch('a', 1, 3, 2), batch('b', 0, 5, 1)], nothing);
    expect(blocks.map(tokenOf)).toEqual(['a/0-2', 'b/0-1']);
    expect(blocks.map(({ clicks }) => clicks)).toEqual([4, 1]);
    expect(blocks[0]!.sequences).toEqual(new Map([['p', 4]]));
  });

  test('does not reach over a batch of another partition, whose numbers come in between', () => {
    const blocks = planBlocks([batch('a', 0, 1, 2), batch('b', 0, 3, 2), batch('a', 1, 5, 2)], nothing);
    expect(blocks.map(tokenOf)).toEqual(['a/0-1', 'b/0-1', 'a/1-2']);
  });

  test('leaves out what does not start where its partition stands', () => {
    const before = { positions: new Map([['a', 1]]), sequences: new Map([['p', 2]]) };
    const blocks = planBlocks([batch('a', 0, 1, 2), batch('a', 1, 3, 2), batch('a', 3, 7, 2)], before);
    expect(blocks.map(tokenOf)).toEqual(['a/1-2']);
  });

  test('leaves out numbers that were counted, in this block or before', () => {
    const before = { positions: new Map(), sequences: new Map([['p', 3]]) };
    const blocks = planBlocks([batch('a', 0, 1, 5), batch('a', 1, 5, 3), batch('a', 2, 2, 2)], before);
    expect(rowsOf(blocks)).toEqual([2, 2, 0]);
    expect(blocks[0]).toMatchObject({ clicks: 4, duplicates: 6 });
    expect([...blocks[0]!.ledger.values()]).toEqual([
      { hour, producer: 'p', counted: 4, skipped: 0, duplicates: 6 },
    ]);
  });

  test('notes numbers that were skipped, once', () => {
    const [block] = planBlocks([batch('a', 0, 4, 1), batch('a', 1, 6, 1)], nothing);
    expect([...block!.ledger.values()]).toEqual([
      { hour, producer: 'p', counted: 2, skipped: 4, duplicates: 0 },
    ]);
  });

  test('is the same for every process that computes it from the same start', () => {
    const batches = [batch('a', 0, 1, 3), batch('a', 1, 2, 5, 'q'), batch('a', 2, 3, 4)];
    expect(planBlocks(batches, nothing)).toEqual(planBlocks(batches, nothing));
  });

  test('of nothing moves the position all the same', () => {
    const [block] = planBlocks([{ ...batch('a', 0, 1, 0), to: 9 }], nothing);
    expect(block).toMatchObject({ from: 0, to: 9, clicks: 0 });
    expect(block!.sequences.size + block!.ledger.size).toBe(0);
  });

  test('counted from a time on has its numbers, but not its clicks before that time', () => {
    const [block] = planBlocks([batch('a', 0, 100, 3)], nothing, samplesStart + 1);
    expect(rowsOf([block!])).toEqual([0]);
    expect(block!.sequences).toEqual(new Map([['p', 102]]));
    expect(block!.ledger.size).toBe(0);
  });

  test('of more days than one insert may have is cut between days, and nothing of it is lost', () => {
    const dayMs = 24 * hourMs;
    const midnight = Math.floor(samplesStart / dayMs) * dayMs;
    const days = [7, 0, 2, 3, 2];
    const clicks = days.map(day => ({ at: midnight + (day + 1) * dayMs - 1 }));
    const counted = [{ producer: 'p', batch: sampleBatch(1, clicks), rows: Uint32Array.of(0, 1, 2, 3, 4) }];
    const rowsWith = (daysMax: number) =>
      partsByDays(counted, daysMax).map(part => part.flatMap(({ rows }) => [...rows]));
    expect(rowsWith(8)).toEqual([[0, 1, 2, 3, 4]]);
    expect(rowsWith(3)).toEqual([[1, 2, 4], [3], [0]]);
    expect(rowsWith(2)).toEqual([[1], [2, 3, 4], [], [0]]);
    expect(partsByDays([], 3)).toEqual([[]]);
  });
});
