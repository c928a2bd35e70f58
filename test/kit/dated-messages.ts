/** Sends messages with earlier timestamps, so that days can pass within a test. */
import { Producer } from '@platformatic/kafka';
import type { KafkaAddress } from '../../src/engines/kafka/address.ts';

export interface DatedMessage {
  readonly partition: number;
  /** When it should have been written. */
  readonly at: number;
  readonly value: Uint8Array;
}

export async function sendDated(
  { servers, topic }: KafkaAddress,
  messages: readonly DatedMessage[],
): Promise<void> {
  const producer = new Producer({
    clientId: 'dated',
    bootstrapBrokers: [...servers],
    autocreateTopics: false,
  });
  try {
    // One by one, because messages that are sent together get one timestamp.
    for (const { partition, at, value } of messages) {
      await producer.send({
        messages: [{ topic, partition, timestamp: BigInt(at), value: Buffer.from(value) }],
      });
    }
  } finally {
    await producer.close();
  }
}
