import { expect, test } from 'bun:test';
import { ManualClock } from '../../../base/clock.ts';
import { KafkaUnavailable } from '../../../engines/kafka/failures.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import { emptyBatch } from '../../batch.ts';
import { createKafkaReplay } from './replay.ts';

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
  return createKafkaReplay({
    reader,
    source: {
      take: async positions =>
        new Map(
          [...positions].map(([name, position]) => [
            name,
            {
              items: [0, 1, 2].map(n => ({
                position: position + 2 * n,
                storedAt: now,
                producer: `p${n}`,
                batch: emptyBatch,
              })),
              to: position + 6,
              end: 100,
            },
          ]),
        ),
    },
    topic: 'clicks',
    retentionMs: 7 * dayMs,
    clock: new ManualClock(now),
  });
}

test('a topic that has lost nothing keeps everything', async () => {
  expect(await replayOf([{ first: 0, at: now }, { first: 0 }]).keptSince()).toBe(0);
});

test('a topic keeps what is younger than the first message of every partition that has lost some', async () => {
  const partitions = [
    { first: 10, at: now - 3 * dayMs },
    { first: 20, at: now - 2 * dayMs },
    { first: 0, at: now - dayMs },
  ];
  expect(await replayOf(partitions).keptSince()).toBe(now - 2 * dayMs);
});

test('a partition that has lost all it had kept it for as long as messages are kept', async () => {
  expect(await replayOf([{ first: 5 }, { first: 0, at: now }]).keptSince()).toBe(now - 7 * dayMs);
});

test('a topic begins with its first message, and one without any has not begun', async () => {
  expect(await replayOf([{ first: 0, at: 50 }, { first: 3, at: 40 }, { first: 0 }]).begunAt()).toBe(40);
  expect(await replayOf([{ first: 0 }]).begunAt()).toBe(Number.POSITIVE_INFINITY);
});

test('a partition that does not answer is not passed over: reading, and what is kept, would be without it', async () => {
  const replay = replayOf([{ first: 0, at: now }], 2);
  for (const ask of [() => replay.positionsAt(now), () => replay.keptSince(), () => replay.begunAt()])
    await expect(ask()).rejects.toThrow(KafkaUnavailable);
  expect(await replayOf([{ first: 3 }, { first: 5 }]).positionsAt(now)).toEqual(
    new Map([
      ['clicks/0', 3],
      ['clicks/1', 5],
    ]),
  );
});

test('nothing at or behind the end is given, although it was read', async () => {
  const replay = replayOf([{ first: 0 }]);
  const { items, to } = await replay.readUntil('clicks/0', 10, 13);
  expect([items.map(({ producer }) => producer), to]).toEqual([['p0', 'p1'], 13]);
  expect((await replay.readUntil('clicks/0', 10, 99)).to).toBe(16);
});

test('partitions of other topics are not its own', () => {
  const { isOwn } = replayOf([]);
  expect(['clicks/0', 'clicks-2/0', '2026-11-16/p.log'].map(isOwn)).toEqual([true, false, false]);
});
