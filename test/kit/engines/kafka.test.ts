import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Admin, Producer } from '@platformatic/kafka';
import { describeWithEngine } from './describe-with-engine.ts';
import {
  type KafkaClusterEngine,
  type KafkaEngine,
  sharedKafka,
  startKafka,
  startKafkaCluster,
} from './kafka.ts';

const timeouts = {
  retries: 3,
  retryDelay: 200,
  connectTimeout: 2_000,
  requestTimeout: 3_000,
  timeout: 3_000,
};
const clientOptions = (address: string) => ({ clientId: 'test', bootstrapBrokers: [address], ...timeouts });

/** The offset that a message got. */
async function send(address: string, topic: string): Promise<bigint | undefined> {
  const producer = new Producer({ ...clientOptions(address), autocreateTopics: false });
  try {
    const message = { topic, partition: 0, value: Buffer.from('kept') };
    const { offsets } = await producer.send({ messages: [message], acks: -1 });
    return offsets?.[0]?.offset;
  } finally {
    await producer.close();
  }
}

async function createTopic(address: string, topic: string, replicas: number): Promise<void> {
  const admin = new Admin(clientOptions(address));
  await admin.createTopics({ topics: [topic], partitions: 1, replicas });
  await admin.close();
}

describeWithEngine('kafka', 'a shared Kafka', () => {
  test('names a new topic at every request', async () => {
    const kafka = await sharedKafka();
    const [one, other] = [kafka.freshTopicUrl(), kafka.freshTopicUrl({ partitions: 7 })];
    expect(new URL(one).pathname).not.toBe(new URL(other).pathname);
    expect(new URL(other).searchParams.get('partitions')).toBe('7');
  });
});

describeWithEngine(
  'kafka',
  'a Kafka of its own',
  () => {
    let engine: KafkaEngine;
    beforeAll(async () => {
      engine = await startKafka();
      await createTopic(engine.address, 'kept', 1);
    });
    afterAll(() => engine?.stop());

    test('keeps at the same address what it acknowledged when it is killed', async () => {
      expect(await send(engine.address, 'kept')).toBe(0n);
      await engine.kill();
      expect(send(engine.address, 'kept')).rejects.toThrow();
      await engine.restart();
      expect(await send(engine.address, 'kept')).toBe(1n);
    });

    test('answers nothing while it is paused and continues afterwards', async () => {
      engine.pause();
      let isAnswered = false;
      const sent = send(engine.address, 'kept').finally(() => {
        isAnswered = true;
      });
      await Bun.sleep(300);
      expect(isAnswered).toBe(false);
      engine.resume();
      expect(await sent).toBe(2n);
    });
  },
  { own: true },
);

describeWithEngine(
  'kafka',
  'three Kafka brokers',
  () => {
    let cluster: KafkaClusterEngine;
    beforeAll(async () => {
      cluster = await startKafkaCluster();
    });
    afterAll(() => cluster?.stop());

    test('any of them may be killed without a message being refused or lost, and comes back in sync', async () => {
      const [first, second] = cluster.brokers;
      await createTopic(first!.address, 'safe', 3);
      await cluster.untilHealthy('safe');
      expect(await send(first!.address, 'safe')).toBe(0n);
      await second!.kill();
      await cluster.untilHealthy();
      expect(await send(first!.address, 'safe')).toBe(1n);
      await second!.restart();
      await cluster.untilHealthy('safe');
      expect(await send(second!.address, 'safe')).toBe(2n);
    });
  },
  { own: true },
);
