import { expect, test } from 'bun:test';
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { KafkaUnavailable } from '../engines/kafka/failures.ts';
import { emptyBatch } from './click.ts';
import { type LogPiece, LogUnavailable, readOn } from './log.ts';
import { createKafkaLog } from './logs/kafka.ts';
import { refuseTruncated } from './replay.ts';

/** Backoffs end at once. */
const clock = { ...systemClock, after: (_delayMs: number, task: () => void) => systemClock.after(0, task) };
const item = { offset: 3, storedAt: 0, producer: 'one', batch: emptyBatch };

/** A partition that ends at 5, whose first reads return nothing. */
function silent(times: number) {
  const log = {
    reads: 0,
    async read(): Promise<Map<string, LogPiece>> {
      log.reads += 1;
      return new Map(log.reads > times ? [['clicks/0', { items: [item], to: 5, end: 5 }]] : []);
    },
  };
  return log;
}
const from = (offset: number) => ({ partition: 'clicks/0', offset, bytesMax: 1_000, clock });

test('a partition that returns nothing before its end is read again', async () => {
  expect((await readOn(silent(3), from(3))).items).toEqual([item]);
});

test('a partition that keeps returning nothing before its end fails, and at its end reading stops', async () => {
  await expect(readOn(silent(Number.POSITIVE_INFINITY), from(4))).rejects.toThrow(LogUnavailable);
  const atEnd = silent(0);
  expect((await readOn(atEnd, from(5))).to).toBe(5);
  expect(atEnd.reads).toBe(1);
});

/** A topic with two partitions. */
const topicOf = (ends: readonly [number, number][]) =>
  createKafkaLog({
    reader: {
      offsets: async () => new Map(ends),
      partitions: async () => 2,
      fetch: async () => [],
      close: async () => {},
    },
    topic: 'clicks',
    partitions: 2,
    retentionMs: 1_000,
    clock,
  });
const bothEnds: [number, number][] = [
  [0, 5],
  [1, 0],
];

test('empty partitions of a topic are left out, and all must answer', async () => {
  expect(await topicOf(bothEnds).partitions()).toEqual([{ name: 'clicks/0', end: 5 }]);
  await expect(topicOf([[0, 5]]).partitions()).rejects.toThrow(KafkaUnavailable);
});

test('a topic that ends before where it was read to is rejected, and offsets of other topics do not matter', async () => {
  const checked = (name: string, offset: number) =>
    refuseTruncated(topicOf(bothEnds), new Map([[name, offset]])).catch((error: unknown) => error);
  for (const [name, offset] of [
    ['clicks/0', 6],
    ['clicks/1', 1],
    ['clicks/2', 1],
  ] as const) {
    const refusal = await checked(name, offset);
    expect(refusal).toBeInstanceOf(Problem);
    expect(refusal).toMatchObject({ code: 'clicks_not_kept' });
  }
  expect(await checked('clicks/0', 5)).toBeUndefined();
  expect(await checked('clicks-2/0', 6)).toBeUndefined();
});
