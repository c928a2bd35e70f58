import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { seededRandom } from '../base/random.ts';
import { randomClicks, sampleBatch, samplesStart } from './batch-samples.ts';
import { type ClickBatch, clickAt, clickCount } from './click.ts';
import { decodeFrame, encodeFrame } from './frame.ts';
import { halvesOf, PartitionNumbers, partitionOf, partsOf } from './partition-numbers.ts';

const clicksOf = (batch: ClickBatch) =>
  Array.from({ length: clickCount(batch) }, (_, index) => clickAt(batch, index));
const withoutNumbers = (batch: ClickBatch) => clicksOf(batch).map(({ sequence: _, ...click }) => click);

describe('numbers of partitions', () => {
  test('each partition’s clicks are numbered without a gap over any number of batches, and none is lost', () => {
    fc.assert(
      fc.property(
        fc.integer(),
        fc.integer({ min: 1, max: 9 }),
        fc.array(fc.nat(40)),
        (seed, partitions, sizes) => {
          const random = seededRandom(seed);
          const given = new Float64Array(partitions);
          const numbers = new PartitionNumbers(given);
          const next = new Array<number>(partitions).fill(1);
          let first = 1;
          for (const size of sizes) {
            const batch = sampleBatch(first, randomClicks(random, size));
            first += size;
            const parts = partsOf(numbers.number(batch));
            for (const { partition, batch: part } of parts) {
              expect(part.firstSequence).toBe(next[partition]!);
              next[partition]! += clickCount(part);
              expect(part.links.every(({ code }) => partitionOf(code, partitions) === partition)).toBe(true);
            }
            const together = parts.flatMap(({ batch: part }) => withoutNumbers(part));
            const key = (click: object) => JSON.stringify(click);
            expect(together.map(key).sort()).toEqual(withoutNumbers(batch).map(key).sort());
          }
          expect(given.reduce((sum, count) => sum + count, 0)).toBe(first - 1);
        },
      ),
    );
  });

  test('a batch that waits elsewhere is cut into the same pieces with the same numbers', () => {
    const numbers = new PartitionNumbers(new Float64Array(4));
    numbers.number(sampleBatch(1, randomClicks(seededRandom(1), 100)));
    const batch = numbers.number(sampleBatch(101, randomClicks(seededRandom(2), 100)));
    const spilled = decodeFrame(Buffer.from(encodeFrame('producer', batch)), 0)!;
    numbers.number(sampleBatch(201, randomClicks(seededRandom(3), 100)));
    expect(partsOf(spilled.batch)).toEqual(partsOf(batch));
  });

  test('clicks that were lost before they came are a gap in the first partition', () => {
    const numbers = new PartitionNumbers(new Float64Array(2));
    const code = ['a', 'b', 'c'].find(each => partitionOf(each, 2) === 0)!;
    const click = { at: samplesStart, code };
    numbers.number(sampleBatch(1, [click]));
    const [part] = partsOf(numbers.number(sampleBatch(7, [click])));
    expect(part?.batch.firstSequence).toBe(7);
  });

  test('a thread that takes over continues the numbers of the one before', () => {
    const given = new Float64Array(3);
    new PartitionNumbers(given).number(sampleBatch(1, randomClicks(seededRandom(4), 50)));
    const before = Array.from(given);
    const batch = new PartitionNumbers(given).number(sampleBatch(51, randomClicks(seededRandom(5), 50)));
    expect(batch.givenBefore).toEqual(before);
  });

  test('a part has each list entry once, and none that its clicks do not point to', () => {
    const numbers = new PartitionNumbers(new Float64Array(8));
    const parts = partsOf(numbers.number(sampleBatch(1, randomClicks(seededRandom(6), 200))));
    for (const { batch } of parts) {
      for (const list of [batch.links, batch.agents, batch.referrers, batch.places]) {
        expect(new Set(list.map(entry => JSON.stringify(entry))).size).toBe(list.length);
      }
      expect(new Set(batch.link).size).toBe(batch.links.length);
      expect(new Set(batch.agent).size).toBe(batch.agents.length);
    }
  });

  test('two halves have all clicks of the whole', () => {
    const whole = sampleBatch(5, randomClicks(seededRandom(7), 9));
    expect(halvesOf(whole).flatMap(clicksOf)).toEqual(clicksOf(whole));
  });
});
