import { expect, test } from 'bun:test';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { sharedKafka } from '../../../../test/kit/engines/kafka.ts';
import { systemClock as clock, sleep } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { type KafkaAddress, parseKafkaAddress } from '../../../engines/kafka/address.ts';
import { isPassing } from '../../../engines/kafka/failures.ts';
import { openKafkaProducer } from '../../../engines/kafka/producer.ts';
import { openKafkaReader } from '../../../engines/kafka/reader.ts';
import { Drain } from '../../drain.ts';
import { createMemoryPendings } from '../../pendings/memory.ts';
import type { DeadLetter, LinkQueue } from '../../queue.ts';
import { encodeQueuedLink } from '../../queued-link.ts';
import { sampleLink } from '../../store-samples.ts';
import { createMemoryStore } from '../../stores/memory.ts';
import { deadTopicOf, linksTopicOf, openKafkaQueue } from './queue.ts';

const attemptsMax = 400;
const attemptPauseMs = 50;
/** Patient, because a machine that is busy with other tests is not a broker that is away. */
const writeMaxMs = 60_000;

/** A topic that has just been made may take a moment to get its leader. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      if (attempt === attemptsMax || !isPassing(error)) throw error;
      await sleep(clock, attemptPauseMs);
    }
  }
}

async function openFresh(): Promise<{ address: KafkaAddress; queue: LinkQueue }> {
  const address = parseKafkaAddress((await sharedKafka()).freshTopicUrl({ partitions: 1 }));
  const queue = openKafkaQueue(address, { clock, onError: () => undefined, sessionMaxMs: 3_000, writeMaxMs });
  await patiently(() => queue.behind());
  return { address, queue };
}

/** All dead letters, which may be more than brokers give at once. */
async function buriedAt(address: KafkaAddress): Promise<DeadLetter[]> {
  const reader = openKafkaReader(address, { clock });
  const letters: DeadLetter[] = [];
  for (let next = 0, end = 1; next < end; ) {
    const wanted = { bytesMax: 1_000_000, waitMaxMs: 500 };
    const [fetched] = await reader.fetch(deadTopicOf(address), new Map([[0, next]]), wanted);
    if (fetched === undefined) throw new Error('the topic of dead letters has no leader');
    letters.push(...fetched.messages.map(({ value }) => JSON.parse(value.toString()) as DeadLetter));
    ({ next, end } = fetched);
  }
  await reader.close();
  return letters;
}

describeWithEngine('kafka', 'burying in Kafka', () => {
  test('more dead letters than brokers take at once are all there', async () => {
    const { address, queue } = await openFresh();
    const letters = Array.from({ length: 500 }, (_, n) => ({
      text: `${n} ${'x'.repeat(2_500)}`,
      place: String(n),
      reason: 'its code belongs to another link',
    }));
    await patiently(() => queue.bury(letters));
    expect(await buriedAt(address)).toEqual(letters);
    await queue.close();
  });

  test('a message as large as brokers take that is no link is buried, and the link behind it stored', async () => {
    const { address, queue } = await openFresh();
    const topic = linksTopicOf(address);
    const poison = Buffer.from(seededRandom(1).bytes(900_000));
    const link = sampleLink('behind');
    const producer = openKafkaProducer(address, { clock });
    for (const value of [poison, Buffer.from(encodeQueuedLink(link))])
      await producer.send([{ topic, partition: 0, value }], writeMaxMs);
    await producer.close();
    const store = createMemoryStore();
    const pendings = createMemoryPendings(clock);
    const drain = new Drain({ queue, store, pendings, perS: 200, clock, onError: () => undefined });
    drain.start();
    for (let attempt = 0; attempt < attemptsMax && (await queue.behind()) > 0; attempt += 1)
      await sleep(clock, attemptPauseMs);
    await drain.stop();
    expect(await queue.behind()).toBe(0);
    expect(await store.find('behind')).toEqual(link);
    expect(drain.dead).toBe(1);
    const [letter] = await buriedAt(address);
    const text = poison.toString();
    expect(letter!.place).toBe(`${topic}/0/0`);
    expect(letter!.reason).toStartWith(`the message is not JSON (of ${text.length} characters only`);
    expect(text.startsWith(letter!.text)).toBe(true);
    await queue.close();
  });
});
