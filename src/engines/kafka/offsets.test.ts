import { expect, test } from 'bun:test';
import { systemClock } from '../../base/clock.ts';
import { isTransient, KafkaRefusal, KafkaUnavailable } from './failures.ts';
import { firstTimes } from './offsets.ts';
import type { Fetched, KafkaReader } from './reader.ts';

/** Backoffs pass at once. */
const clock = { ...systemClock, after: (_delayMs: number, task: () => void) => systemClock.after(0, task) };
const message = { offset: 7, at: 1_000, key: undefined, value: Buffer.alloc(0) };
const found: Fetched = { partition: 0, messages: [message], next: 8, end: 9 };

/** Of a partition that answers in this order, and goes on with the last. */
function timesOf(answers: readonly (Fetched | undefined)[]) {
  const asked: number[] = [];
  const fetch: KafkaReader['fetch'] = async (_topic, from) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)];
    asked.push(from.get(0)!);
    return answer === undefined ? [] : [answer];
  };
  const times = firstTimes({ reader: { fetch }, topic: 'clicks', clock }, new Map([[0, 3]]));
  return { asked, times };
}

test('a partition that gives nothing for a moment is asked again', async () => {
  const { asked, times } = timesOf([undefined, { ...found, messages: [], next: 3 }, found]);
  expect(await times).toEqual(new Map([[0, 1_000]]));
  expect(asked).toEqual([3, 3, 3]);
});

test('where messages are deleted, the first that is left is asked for', async () => {
  const { asked, times } = timesOf([{ ...found, messages: [], next: 7 }, found]);
  expect(await times).toEqual(new Map([[0, 1_000]]));
  expect(asked).toEqual([3, 7]);
});

test('a partition that has nothing is left out, and one that does not answer is not taken for it', async () => {
  expect(await timesOf([{ ...found, messages: [], next: 3, end: 3 }]).times).toEqual(new Map());
  await expect(timesOf([undefined]).times).rejects.toThrow(KafkaUnavailable);
});

test.each(['COORDINATOR_LOAD_IN_PROGRESS', 'NOT_LEADER_OR_FOLLOWER'])(
  '%s passes in a moment, unlike a message that is too large',
  code => {
    expect(isTransient(new KafkaRefusal(code, 'a broker that starts', undefined))).toBe(true);
    expect(isTransient(new KafkaRefusal('MESSAGE_TOO_LARGE', 'too large', undefined))).toBe(false);
  },
);
