import { expect, test } from 'bun:test';
import { systemClock } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import { KafkaUnavailable } from '../../../engines/kafka/failures.ts';
import { emptyBatch } from '../../batch.ts';
import type { StreamBatch } from '../../stream.ts';
import { openWholeSource, type WholeSourceOptions } from './whole-source.ts';

/** Pauses pass at once. */
const clock = { ...systemClock, after: (_delayMs: number, task: () => void) => systemClock.after(0, task) };
const batch: StreamBatch = { partition: 'clicks/0', from: 3, to: 5, producer: 'one', batch: emptyBatch };

/** Of a topic with two partitions, the first of which gives nothing a number of times. */
function topicOf(ends: readonly [number, number][], silences = 0): WholeSourceOptions & { reads: number } {
  const topic = {
    reads: 0,
    topic: 'clicks',
    clock,
    reader: { offsets: async () => new Map(ends), partitions: async () => 2 },
    source: {
      read: async () => {
        topic.reads += 1;
        return topic.reads > silences ? [batch] : [];
      },
      close: async () => {},
    },
  };
  return topic;
}
const bothEnds: [number, number][] = [
  [0, 5],
  [1, 0],
];

test('partitions are read that have something beyond the positions', async () => {
  const source = await openWholeSource(topicOf(bothEnds), new Map());
  expect(await source.behind(new Map())).toEqual([{ name: 'clicks/0' }]);
  expect(await source.behind(new Map([['clicks/0', 5]]))).toEqual([]);
});

test('a partition that gives nothing before its end is asked again', async () => {
  const source = await openWholeSource(topicOf(bothEnds, 3), new Map());
  expect(await source.read('clicks/0', 3, 1_000)).toEqual([batch]);
});

test('a partition that goes on giving nothing before its end fails, and at its end it is over', async () => {
  const topic = topicOf(bothEnds, Number.POSITIVE_INFINITY);
  const source = await openWholeSource(topic, new Map());
  await expect(source.read('clicks/0', 4, 1_000)).rejects.toThrow(KafkaUnavailable);
  topic.reads = 0;
  expect(await source.read('clicks/0', 5, 1_000)).toEqual([]);
  expect(topic.reads).toBe(1);
});

test('a topic of which a partition does not answer is not opened', async () => {
  await expect(openWholeSource(topicOf([[0, 5]]), new Map())).rejects.toThrow(KafkaUnavailable);
});

test('a topic that ends before where it was read to is refused, and what other topics were read to is not asked', async () => {
  const open = (name: string, position: number) =>
    openWholeSource(topicOf(bothEnds), new Map([[name, position]])).catch((error: unknown) => error);
  for (const [name, position] of [
    ['clicks/0', 6],
    ['clicks/1', 1],
    ['clicks/2', 1],
  ] as const) {
    const refusal = await open(name, position);
    expect(refusal).toBeInstanceOf(Problem);
    expect(refusal).toMatchObject({ code: 'clicks_not_kept' });
  }
  expect(await open('clicks/0', 5)).not.toBeInstanceOf(Error);
  expect(await open('clicks-2/0', 6)).not.toBeInstanceOf(Error);
});
