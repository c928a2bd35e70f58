import { describe, expect, test } from 'bun:test';
import { partitionOf } from '../../partition-numbers.ts';
import { createKafkaLiveSource } from './live-source.ts';

const partitions = 4;
const codeIn = (partition: number) =>
  Array.from({ length: 100 }, (_, n) => `code${n}`).find(
    code => partitionOf(code, partitions) === partition,
  )!;

describe('what is read of Kafka for the live view', () => {
  const ends = new Map(Array.from({ length: partitions }, (_, n) => [`clicks/${n}`, 100]));
  const reads: [string, number][] = [];
  const source = createKafkaLiveSource(
    {
      ends: async () => new Map(ends),
      read: async (partition, position) => {
        reads.push([partition, position]);
        return [];
      },
    },
    { topic: 'clicks', partitions },
  );

  test('is nothing while nobody watches', async () => {
    expect(await source.behind(new Map())).toEqual([]);
  });

  test('is what comes into the partition of a watched code from then on, and of no other', async () => {
    source.watch([codeIn(1)]);
    expect(await source.behind(new Map())).toEqual([]);
    for (const name of ends.keys()) ends.set(name, 110);
    expect(await source.behind(new Map())).toEqual([{ name: 'clicks/1' }]);
    await source.read('clicks/1', 0, 1);
    expect(reads.at(-1)).toEqual(['clicks/1', 100]);
    expect(await source.behind(new Map([['clicks/1', 110]]))).toEqual([]);
  });

  test('begins anew for a code that is watched later, and again', async () => {
    source.watch([codeIn(1), codeIn(2)]);
    expect(await source.behind(new Map([['clicks/1', 110]]))).toEqual([]);
    source.watch([codeIn(2)]);
    await source.behind(new Map());
    ends.set('clicks/1', 500);
    source.watch([codeIn(1)]);
    expect(await source.behind(new Map([['clicks/1', 110]]))).toEqual([]);
  });
});
