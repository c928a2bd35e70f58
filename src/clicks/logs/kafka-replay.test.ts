import { expect, test } from 'bun:test';
import { ManualClock } from '../../base/clock.ts';
import { KafkaUnavailable } from '../../engines/kafka/failures.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { createKafkaLog } from './kafka.ts';

const now = Date.UTC(2026, 10, 16);
const dayMs = 24 * 60 * 60_000;

/** Of each partition: its first offset that is kept, and when that was written; undefined when it is empty. */
function replayOf(
  partitions: readonly { readonly first: number; readonly at?: number }[],
  partitionsInAll = partitions.length,
) {
  const reader: Pick<KafkaReader, 'offsets' | 'partitions' | 'fetch'> = {
    partitions: async () => partitionsInAll,
    offsets: async () => new Map(partitions.map(({ first }, partition) => [partition, first])),
    fetch: async (_topic, from) =>
      [...from].map(([partition, offset]) => {
        const at = partitions[partition]!.at;
        const messages = at === undefined ? [] : [{ offset, at, key: undefined, value: Buffer.alloc(0) }];
        return { partition, messages, next: offset + messages.length, end: offset + messages.length };
      }),
  };
  return createKafkaLog({
    reader: { ...reader, close: async () => {} },
    topic: 'clicks',
    partitions: partitionsInAll,
    retentionMs: 7 * dayMs,
    clock: new ManualClock(now),
  });
}
const keptSince = async (...given: Parameters<typeof replayOf>) =>
  (await replayOf(...given).retention()).keptSince;
const begunAt = async (...given: Parameters<typeof replayOf>) =>
  (await replayOf(...given).retention()).begunAt;

test('a topic that has lost nothing keeps everything', async () => {
  expect(await keptSince([{ first: 0, at: now }, { first: 0 }])).toBe(0);
});

test('a topic keeps what is younger than the first message of every partition that has lost some', async () => {
  const partitions = [
    { first: 10, at: now - 3 * dayMs },
    { first: 20, at: now - 2 * dayMs },
    { first: 0, at: now - dayMs },
  ];
  expect(await keptSince(partitions)).toBe(now - 2 * dayMs);
});

test('a partition that has lost all it had kept it for as long as messages are kept', async () => {
  expect(await keptSince([{ first: 5 }, { first: 0, at: now }])).toBe(now - 7 * dayMs);
});

test('a topic begins with its first message, and one without any has not begun', async () => {
  expect(await begunAt([{ first: 0, at: 50 }, { first: 3, at: 40 }, { first: 0 }])).toBe(40);
  expect(await begunAt([{ first: 0 }])).toBe(Number.POSITIVE_INFINITY);
});

test('a partition that does not answer is not skipped: reading, and what is kept, would be without it', async () => {
  const replay = replayOf([{ first: 0, at: now }], 2);
  for (const ask of [() => replay.offsetsAt(now), () => replay.retention()])
    await expect(ask()).rejects.toThrow(KafkaUnavailable);
  expect(await replayOf([{ first: 3 }, { first: 5 }]).offsetsAt(now)).toEqual(
    new Map([
      ['clicks/0', 3],
      ['clicks/1', 5],
    ]),
  );
});

test('partitions of other topics are not its own', () => {
  const { isOwn } = replayOf([]);
  expect(['clicks/0', 'clicks-2/0', '2026-11-16/p.log'].map(isOwn)).toEqual([true, false, false]);
});
