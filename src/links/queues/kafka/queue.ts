/**
 * The queue of new links in Kafka: beside the topic that the address names, `TOPIC-links` holds what waits, one message
 * per link, and `TOPIC-links-dead` what nobody could use. The first is kept without a limit of time, so that a store
 * that is away for days costs nothing but room, and is emptied behind those who drain it; the second is kept for ever.
 * Which partition a link goes to does not matter, since nothing else is ever said about it; each write takes the next.
 */
import type { Clock } from '../../../base/clock.ts';
import type { KafkaAddress } from '../../../engines/kafka/address.ts';
import { KafkaUnavailable, within } from '../../../engines/kafka/failures.ts';
import { openKafkaGroup } from '../../../engines/kafka/group.ts';
import { openGroupProgress } from '../../../engines/kafka/group-progress.ts';
import { openKafkaProducer } from '../../../engines/kafka/producer.ts';
import { openKafkaReader } from '../../../engines/kafka/reader.ts';
import { ensureTopic } from '../../../engines/kafka/topics.ts';
import type { LinkQueue } from '../../queue.ts';
import { KafkaQueueConsumer } from './consumer.ts';
import { letterPieces } from './dead-letters.ts';
import { firstUnfinished } from './first-unfinished.ts';
import { GatheredAppends } from './gathered-appends.ts';

export interface KafkaQueueOptions {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** After how much silence one who drains is taken for dead. */
  readonly sessionMaxMs?: number;
  /** For a write, and before it for the one that is on its way. */
  readonly writeMaxMs?: number;
}

const writeMaxMsDefault = 2_500;
/** Half of what brokers take at once, because a character may be several bytes. */
const charactersMax = 400_000;
const forEver = { 'retention.ms': '-1', 'retention.bytes': '-1' } as const;
/** Deleting is work for the brokers, too. */
const deleteEveryMs = 60_000;
const pageBytesMax = 1024 * 1024;
const pageWaitMs = 500;
/** Pages without a message, one after the other, of a partition that should have some. */
const emptyPagesMax = 20;

export const linksTopicOf = ({ topic }: Pick<KafkaAddress, 'topic'>): string => `${topic}-links`;
export const deadTopicOf = ({ topic }: Pick<KafkaAddress, 'topic'>): string => `${topic}-links-dead`;

export function openKafkaQueue(address: KafkaAddress, options: KafkaQueueOptions): LinkQueue {
  const { clock, onError, sessionMaxMs, writeMaxMs = writeMaxMsDefault } = options;
  const topic = linksTopicOf(address);
  const deadTopic = deadTopicOf(address);
  const ours: KafkaAddress = { ...address, topic, group: `${topic}-drain` };
  const producer = openKafkaProducer(ours, { clock });
  const reader = openKafkaReader(ours, { clock });
  const progress = openGroupProgress(ours, { clock });
  const ensured = new Map<string, Promise<void>>();
  let lastPartition = 0;
  let deletedAtMs = clock.monotonicMs();

  /** Asked for once, and again after a failure. */
  const ensure = (name: string, partitions: number): Promise<void> => {
    const known = ensured.get(name);
    if (known !== undefined) return known;
    const ensuring = ensureTopic(ours, { topic: name, partitions, configs: forEver }, clock);
    ensured.set(name, ensuring);
    ensuring.catch(() => ensured.delete(name));
    return ensuring;
  };
  const prepare = (): Promise<void> => ensure(topic, address.partitions);

  const appends = new GatheredAppends({
    async write(messages) {
      // A topic may take longer to make than a caller should wait; it is made all the same.
      await within(clock, writeMaxMs, 'waiting for the topic', prepare);
      lastPartition = (lastPartition + 1) % address.partitions;
      const partition = lastPartition;
      await producer.send(
        messages.map(text => ({ topic, partition, value: Buffer.from(text) })),
        writeMaxMs,
      );
    },
    clock,
    turnMaxMs: writeMaxMs,
    charactersMax,
  });

  /** Where each partition's first unfinished message lies, and where the partition ends. */
  async function unfinished(): Promise<{ from: Map<number, number>; ends: Map<number, number> }> {
    await prepare();
    // In this order: what is finished and appended meanwhile then counts as unfinished, and never as less than nothing.
    const earliest = await reader.offsets(topic, 'earliest');
    const committed = await progress.committed(earliest.size);
    const ends = await reader.offsets(topic, 'latest');
    return { from: firstUnfinished([...ends.keys()], { committed, earliest, ends }), ends };
  }

  /** What everyone is done with is of no use to anyone. */
  function deleteFinished(offsets: ReadonlyMap<number, number>): void {
    if (clock.monotonicMs() - deletedAtMs < deleteEveryMs) return;
    deletedAtMs = clock.monotonicMs();
    progress.deleteBefore(offsets).catch(onError);
  }

  return {
    append: messages => appends.append(messages),
    async behind() {
      const { from, ends } = await unfinished();
      return [...ends].reduce((sum, [partition, end]) => sum + Math.max(0, end - from.get(partition)!), 0);
    },
    async *waiting() {
      const { from, ends } = await unfinished();
      let emptyPages = 0;
      for (;;) {
        const left = new Map([...from].filter(([partition, offset]) => offset < ends.get(partition)!));
        if (left.size === 0) return;
        const page: string[] = [];
        const wanted = { bytesMax: pageBytesMax, waitMaxMs: pageWaitMs };
        for (const { partition, messages, next } of await reader.fetch(topic, left, wanted)) {
          from.set(partition, next);
          page.push(...messages.map(({ value }) => value.toString()));
        }
        emptyPages = page.length === 0 ? emptyPages + 1 : 0;
        if (emptyPages > emptyPagesMax) throw new KafkaUnavailable(`${topic} does not give what it has`);
        if (page.length > 0) yield page;
      }
    },
    consume: () =>
      new KafkaQueueConsumer({
        topic,
        group: openKafkaGroup(ours, { clock, ...(sessionMaxMs && { sessionMaxMs }) }),
        reader,
        clock,
        prepare,
        onFinished: deleteFinished,
      }),
    async bury(letters) {
      await ensure(deadTopic, 1);
      for (const piece of letterPieces(letters)) {
        await producer.send(
          piece.map(value => ({ topic: deadTopic, partition: 0, value })),
          writeMaxMs,
        );
      }
    },
    async close() {
      await appends.settled();
      await Promise.all([producer.close(), reader.close(), progress.close()]);
    },
  };
}
