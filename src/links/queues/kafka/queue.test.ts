import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../../../../test/kit/engines/kafka.ts';
import { systemClock as clock, sleep } from '../../../base/clock.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../../engines/kafka/address.ts';
import { openKafkaGroup } from '../../../engines/kafka/group.ts';
import { openGroupProgress } from '../../../engines/kafka/offsets.ts';
import { openKafkaReader } from '../../../engines/kafka/reader.ts';
import { linkQueueConformance } from '../../queue.conformance.ts';
import type { DeadLetter, LinkQueue } from '../../queue.ts';
import { deadTopicOf, linksTopicOf, openKafkaQueue } from './queue.ts';

const attemptsMax = 400;
/** Long, because a machine that is busy with other tests is not a broker outage. */
const options = { clock, onError: () => undefined, writeMaxMs: 60_000 };
/** Returns when its topic exists and every partition has a leader, which may take a moment longer. */
async function openFresh(address: KafkaAddress): Promise<LinkQueue> {
  const queue = openKafkaQueue(address, options);
  for (let attempt = 0; attempt < attemptsMax; attempt += 1) {
    const isReady = await queue.behind().then(
      () => true,
      () => false,
    );
    if (isReady) return queue;
    await sleep(clock, 50);
  }
  throw new Error('the topic was not made in time');
}
const freshAddress = async () => parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions: 3 }));

/** The state of a group whose partitions once ended there. */
async function commitEverywhere(address: KafkaAddress, offset: number): Promise<void> {
  const topic = linksTopicOf(address);
  const group = openKafkaGroup({ ...address, topic, group: `${topic}-drain` }, { clock });
  const term = await group.term();
  await term.commit(new Map(term.partitions.map(partition => [partition, { offset, metadata: '' }])));
  await group.close();
}

describeWithEngine('kafka', 'links in Kafka', () => {
  linkQueueConformance('Kafka', async () => {
    const address = await freshAddress();
    const queue = await openFresh(address);
    return {
      queue,
      async deadLettered() {
        const reader = openKafkaReader(address, { clock });
        const wanted = { bytesMax: 1_000_000, waitMaxMs: 500 };
        const fetched = await reader.fetch(deadTopicOf(address), new Map([[0, 0]]), wanted);
        await reader.close();
        const values = fetched.flatMap(({ messages }) => messages.map(({ value }) => value.toString()));
        return values.map(value => JSON.parse(value) as DeadLetter);
      },
      dispose: () => queue.close(),
    };
  });

  test('many concurrent appends, and one too large for one write, are all stored', async () => {
    const queue = await openFresh(await freshAddress());
    const large = Array.from({ length: 2_000 }, (_, n) => `${n} ${'x'.repeat(1_000)}`);
    const small = Array.from({ length: 300 }, (_, n) => `small ${n}`);
    await Promise.all([queue.append(large), ...small.map(text => queue.append([text]))]);
    expect(await queue.behind()).toBe(2_300);
    const waiting = (await Array.fromAsync(queue.waiting())).flat();
    expect(new Set(waiting)).toEqual(new Set([...large, ...small]));
    await queue.close();
  });

  test('messages deleted after draining are neither delivered nor counted', async () => {
    const address = await freshAddress();
    const queue = await openFresh(address);
    for (let write = 0; write < 6; write += 1) await queue.append([`first ${write}`]);
    const topic = linksTopicOf(address);
    const progress = openGroupProgress({ ...address, topic, group: `${topic}-drain` }, { clock });
    await progress.deleteBefore(
      new Map([
        [0, 2],
        [1, 2],
        [2, 2],
      ]),
    );
    await progress.close();
    expect(await queue.behind()).toBe(0);
    await queue.append(['second']);
    expect((await Array.fromAsync(queue.waiting())).flat()).toEqual(['second']);
    const consumer = queue.consume();
    const taken: string[] = [];
    while (taken.length === 0) taken.push(...(await consumer.take(10, 100)).map(({ text }) => text));
    expect(taken).toEqual(['second']);
    await consumer.close();
    await queue.close();
  });

  test('an offset beyond the end, committed before a partition lost its last messages, is not trusted', async () => {
    const address = await freshAddress();
    const queue = await openFresh(address);
    await queue.append(['kept']);
    await commitEverywhere(address, 101);
    expect(await queue.behind()).toBe(1);
    expect((await Array.fromAsync(queue.waiting())).flat()).toEqual(['kept']);
    const consumer = queue.consume();
    const taken: string[] = [];
    while (taken.length === 0) taken.push(...(await consumer.take(10, 100)).map(({ text }) => text));
    expect(taken).toEqual(['kept']);
    await consumer.finish();
    expect(await queue.behind()).toBe(0);
    await consumer.close();
    await queue.close();
  });

  test('nor when so much was appended since that it is before the end again', async () => {
    const address = await freshAddress();
    const queue = await openFresh(address);
    await queue.append(['kept']);
    await commitEverywhere(address, 101);
    const consumer = queue.consume();
    while ((await consumer.take(10, 100)).length === 0);
    await consumer.close();
    const texts = Array.from({ length: 150 }, (_, n) => `${n}`);
    for (let partition = 0; partition < 3; partition += 1) await queue.append(texts);
    expect(await queue.behind()).toBe(451);
    await queue.close();
  });
});

test('a broker outage is a rejection by the deadline, not a wait', async () => {
  const queue = openKafkaQueue(parseKafkaAddress('kafka://127.0.0.1:1/nowhere'), {
    ...options,
    writeMaxMs: 1_000,
  });
  await expect(queue.append(['one'])).rejects.toThrow();
  await expect(queue.behind()).rejects.toThrow();
  await expect(queue.deadLetter([{ text: '', place: '', reason: '' }])).rejects.toThrow();
  await expect(queue.consume().take(1, 10)).rejects.toThrow();
  await queue.close();
});
