/**
 * The click log in Kafka. A partition is named after its topic and number. A message that is no frame of ours is reported
 * and skipped.
 *
 * A batch is cut by partition, each part becomes one message of thousands of clicks, and the parts go out together; a
 * batch is kept when all of them are. A failure leaves it open which are, so the whole batch is appended again by its
 * owner, and the counters recognise what they have seen by its numbers.
 */
import type { Clock } from '../../base/clock.ts';
import { KafkaRefusal } from '../../engines/kafka/failures.ts';
import { firstTimes } from '../../engines/kafka/offsets.ts';
import type { KafkaProducer } from '../../engines/kafka/producer.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import { allOffsets } from '../../engines/kafka/topics.ts';
import { type ClickBatch, clickCount } from '../click.ts';
import { encodeFrame, validateFrame } from '../frame.ts';
import { type ClickLog, type LogItem, type LogPiece, type LogWriter, pairName } from '../log.ts';
import { halvesOf, partitionOf, partsOf } from '../partition-numbers.ts';

export interface KafkaLogOptions {
  readonly reader: KafkaReader;
  readonly topic: string;
  /** How many partitions producers number; a topic with fewer keeps the rest in those that it has. */
  readonly partitions: number;
  /** For how long messages are kept, as far as we know. */
  readonly retentionMs: number;
  readonly clock: Clock;
  /** Called for a message that is no frame of ours. */
  readonly onPoison?: (partition: string, offset: number) => void;
  /** After so many, the rest of a fetch is left to the next read. */
  readonly clicksPerReadMax?: number;
}

/** Some tens of megabytes once decoded, and far more than a fetch of our own messages has. */
const clicksPerReadMaxDefault = 1_000_000;

export const partitionName = (topic: string, partition: number): string => `${topic}/${partition}`;
export const partitionNumber = (name: string): number => Number(name.slice(name.lastIndexOf('/') + 1));

export function createKafkaLog(options: KafkaLogOptions): ClickLog {
  const { reader, topic, partitions: numbered, retentionMs, clock, onPoison } = options;
  const { clicksPerReadMax = clicksPerReadMaxDefault } = options;
  const all = (at: Parameters<KafkaReader['offsets']>[1]): Promise<Map<number, number>> =>
    allOffsets(reader, topic, at);
  const named = (offsets: ReadonlyMap<number, number>): Map<string, number> =>
    new Map([...offsets].map(([partition, offset]) => [partitionName(topic, partition), offset]));
  const ends = async () => [...named(await all('latest'))].map(([name, end]) => ({ name, end }));

  return {
    partitions: async () => (await ends()).filter(({ end }) => end > 0),
    async partitionsOf(codes) {
      const found = await ends();
      const names = new Set(
        codes.map(code => partitionName(topic, partitionOf(code, numbered) % found.length)),
      );
      return found.filter(({ name }) => names.has(name));
    },
    async read(offsets, bounds) {
      const wanted = new Map([...offsets].map(([name, offset]) => [partitionNumber(name), offset]));
      const pieces = new Map<string, LogPiece>();
      let clicks = 0;
      for (const { partition, messages, next, end } of await reader.fetch(topic, wanted, bounds)) {
        const name = partitionName(topic, partition);
        const items: LogItem[] = [];
        let to = next;
        for (const { offset, at, value } of messages) {
          // A few bytes may hold very many clicks.
          if (clicks >= clicksPerReadMax) {
            to = offset;
            break;
          }
          const frame = validateFrame(value);
          if (frame === undefined) onPoison?.(name, offset);
          else {
            clicks += clickCount(frame.batch);
            items.push({ offset, storedAt: at, producer: frame.producer, batch: frame.batch });
          }
        }
        pieces.set(name, { items, to, end });
      }
      return pieces;
    },
    offsetsAt: async time => named(await all({ time: Math.max(0, time) })),
    /**
     * A partition that has lost nothing yet says nothing about it; of the others it is the one that was cut last from
     * which on everything is there. One that is empty by now has lost what exceeded the retention.
     */
    async retention(wanted) {
      const earliest = new Map(
        [...(await all('earliest'))].filter(
          ([partition]) => wanted?.has(partitionName(topic, partition)) ?? true,
        ),
      );
      const times = await firstTimes({ reader, topic, clock }, earliest);
      const cut = [...earliest].filter(([, offset]) => offset > 0);
      const emptiedAt = clock.now() - retentionMs;
      return {
        keptSince: Math.max(0, ...cut.map(([partition]) => times.get(partition) ?? emptiedAt)),
        begunAt: Math.min(Number.POSITIVE_INFINITY, ...times.values()),
      };
    },
    isOwn: partition => partition.startsWith(`${topic}/`),
    close: () => reader.close(),
  };
}

export interface KafkaWriterOptions {
  readonly kafka: KafkaProducer;
  readonly topic: string;
  /** The producer to append as when no other is named. */
  readonly producer: string;
  readonly messageBytesMax?: number;
}

/** Brokers accept a megabyte unless configured otherwise, and something is added to what we send. */
const messageBytesMaxDefault = 900_000;
const messageBytesMin = 16_384;
/** Clicks wait in memory meanwhile, and are spilled to disk when it takes longer. */
const appendMaxMs = 2_000;

/** Takes numbered batches (partition-numbers.ts). */
export function createKafkaWriter({
  kafka,
  topic,
  producer,
  messageBytesMax = messageBytesMaxDefault,
}: KafkaWriterOptions): LogWriter<void> {
  let bytesMax = messageBytesMax;

  /** A message that would be larger than brokers take is halved. */
  function framesOf(name: string, batch: ClickBatch): Uint8Array[] {
    const frame = encodeFrame(name, batch);
    if (frame.length <= bytesMax || clickCount(batch) === 1) return [frame];
    return halvesOf(batch).flatMap(half => framesOf(name, half));
  }

  return {
    async append(batch, owner = producer) {
      const queues = partsOf(batch).map(({ partition, batch: part }) => ({
        partition,
        frames: framesOf(pairName(owner, partition), part),
      }));
      // Halves follow each other in requests of their own: what a request holds for one partition is one piece to the broker.
      const rounds = Math.max(0, ...queues.map(({ frames }) => frames.length));
      for (let round = 0; round < rounds; round += 1) {
        const messages = queues.flatMap(({ partition, frames }) => {
          const value = frames[round];
          return value === undefined ? [] : [{ topic, partition, value }];
        });
        try {
          await kafka.send(messages, appendMaxMs);
        } catch (error) {
          // A topic that accepts less than we thought: when the batch is retried, its messages are smaller.
          if (error instanceof KafkaRefusal && error.code === 'MESSAGE_TOO_LARGE')
            bytesMax = Math.max(messageBytesMin, Math.floor(bytesMax / 2));
          throw error;
        }
      }
    },
    close: () => kafka.close(),
  };
}
