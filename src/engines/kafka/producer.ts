/**
 * Writes messages, each to a partition that the caller names, so that they survive what the topic's replication lets
 * them survive: acknowledged by all replicas in sync, and repeated by the client without making a second one. A call
 * ends by its deadline. After a failure it is unknown what was written, unless nothing was sent yet (`unsent`); and the
 * client that failed is discarded with all it may still be trying, so whatever the caller writes next comes later than
 * that.
 */
import { Producer } from '@platformatic/kafka';
import type { Clock } from '../../base/clock.ts';
import { clientOptions, type KafkaAddress } from './address.ts';
import { KafkaRefusal, KafkaUnavailable, unsent, within } from './failures.ts';

export interface OutgoingMessage {
  readonly topic: string;
  readonly partition: number;
  readonly key?: string;
  readonly value: Uint8Array;
}

export interface KafkaProducer {
  /** Where each message lies, in their order. A topic that has fewer partitions takes the number modulo of theirs. */
  send(messages: readonly OutgoingMessage[], deadlineMs?: number): Promise<MessagePlace[]>;
  close(): Promise<void>;
}

export interface MessagePlace {
  readonly partition: number;
  readonly offset: number;
}

const deadlineMsDefault = 3_000;
const requestMaxMs = 2_500;
/** More than one, because the library would otherwise repeat forever. */
const retries = 2;

export function openKafkaProducer(address: KafkaAddress, { clock }: { clock: Clock }): KafkaProducer {
  let client: Producer | undefined;
  const giveUp = (): Promise<void> => {
    const given = client;
    client = undefined;
    return given === undefined ? Promise.resolve() : given.close(true).catch(() => undefined);
  };

  async function sendOnce(messages: readonly OutgoingMessage[], onSend: () => void): Promise<MessagePlace[]> {
    client ??= new Producer({
      ...clientOptions(address, { name: 'producer', requestMaxMs, retries }),
      idempotent: true,
      // Clicks are compressed already, in frames; queued links are few beside them and deleted within minutes.
      compression: 'none',
    });
    const using = client;
    const topics = [...new Set(messages.map(({ topic }) => topic))];
    // Asked for here, because the library trips over a topic that has no leader yet.
    const { topics: known } = await using.metadata({ topics });
    const targets = messages.map(message => {
      const partitions = known.get(message.topic)?.partitions ?? [];
      const partition = message.partition % Math.max(1, partitions.length);
      if ((partitions[partition]?.leader ?? -1) < 0) {
        using.clearMetadata();
        throw new KafkaUnavailable(`${message.topic}/${partition} has no leader`);
      }
      return { ...message, partition };
    });
    if (client !== using) throw new KafkaUnavailable('the deadline passed before anything was sent');
    onSend();
    const { offsets = [] } = await using.send({
      messages: targets.map(({ topic, partition, key, value }) => ({
        topic,
        partition,
        value: bufferOf(value),
        ...(key !== undefined && { key: Buffer.from(key) }),
      })),
    });
    return placesOf(targets, offsets);
  }

  return {
    async send(messages, deadlineMs = deadlineMsDefault) {
      let isSent = false;
      const onSend = (): void => {
        isSent = true;
      };
      try {
        return await within(clock, deadlineMs, 'writing to Kafka', () => sendOnce(messages, onSend));
      } catch (error) {
        // What a broker refused is not being tried any more, and others may be using the client.
        if (!(error instanceof KafkaRefusal)) void giveUp();
        if (!isSent) unsent(error);
        throw error;
      }
    },
    close: giveUp,
  };
}

/** A broker answers with the offset of the first message of each partition; the others follow it. */
function placesOf(
  messages: readonly { topic: string; partition: number }[],
  firsts: readonly { topic: string; partition: number; offset: bigint }[],
): MessagePlace[] {
  const next = new Map(firsts.map(each => [`${each.topic}/${each.partition}`, Number(each.offset)]));
  return messages.map(({ topic, partition }) => {
    const offset = next.get(`${topic}/${partition}`);
    if (offset === undefined) throw new KafkaUnavailable(`Kafka did not say where in ${topic}/${partition}`);
    next.set(`${topic}/${partition}`, offset + 1);
    return { partition, offset };
  });
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
