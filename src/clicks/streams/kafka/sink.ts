/**
 * Clicks into Kafka. A batch is cut by partition, each part becomes one message of thousands of clicks, and the parts go
 * out together; a batch is kept when all of them are. A failure leaves it open which are, so the whole batch is appended
 * again by its owner, and the counters recognise what they have seen by its numbers.
 *
 * A message that would be larger than brokers take is halved. The halves of a partition follow each other in requests of
 * their own, because what a request holds for one partition is one piece to the broker.
 */
import { KafkaRefusal } from '../../../engines/kafka/failures.ts';
import type { KafkaProducer } from '../../../engines/kafka/producer.ts';
import { type ClickBatch, clickCount } from '../../batch.ts';
import { encodeFrame } from '../../frame.ts';
import { halvesOf, partsOf } from '../../partition-numbers.ts';
import { type ClickSink, pairName } from '../../stream.ts';

export interface KafkaSinkOptions {
  readonly kafka: KafkaProducer;
  readonly topic: string;
  /** Who appends when nobody else is named. */
  readonly producer: string;
  readonly messageBytesMax?: number;
}

/** Brokers take a megabyte unless they are told otherwise, and something is added to what we send. */
const messageBytesMaxDefault = 900_000;
const messageBytesMin = 16_384;
/** Clicks wait in memory meanwhile, and there is a disk for them when it takes longer. */
const appendMaxMs = 2_000;

export function createKafkaSink({
  kafka,
  topic,
  producer,
  messageBytesMax = messageBytesMaxDefault,
}: KafkaSinkOptions): ClickSink<void> {
  let bytesMax = messageBytesMax;

  function framesOf(name: string, batch: ClickBatch): Uint8Array[] {
    const frame = encodeFrame(name, batch);
    if (frame.length <= bytesMax || clickCount(batch) === 1) return [frame];
    return halvesOf(batch).flatMap(half => framesOf(name, half));
  }

  return {
    async append(batch, noter = producer) {
      const queues = partsOf(batch).map(({ partition, batch: part }) => ({
        partition,
        frames: framesOf(pairName(noter, partition), part),
      }));
      const rounds = Math.max(0, ...queues.map(({ frames }) => frames.length));
      for (let round = 0; round < rounds; round += 1) {
        const messages = queues.flatMap(({ partition, frames }) => {
          const value = frames[round];
          return value === undefined ? [] : [{ topic, partition, value }];
        });
        try {
          await kafka.send(messages, appendMaxMs);
        } catch (error) {
          // A topic that takes less than we thought: when the batch comes again, its messages are smaller.
          if (error instanceof KafkaRefusal && error.code === 'MESSAGE_TOO_LARGE') {
            bytesMax = Math.max(messageBytesMin, Math.floor(bytesMax / 2));
          }
          throw error;
        }
      }
    },
    close: () => kafka.close(),
  };
}
