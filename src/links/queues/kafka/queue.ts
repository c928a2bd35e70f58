/**
 * The queue of new links in Kafka: beside the topic that the address names, `TOPIC-links` holds the waiting links, one
 * message per link, and `TOPIC-links-dead` those that could not be used. The first has no time limit, so that a store
 * outage of days costs nothing but space, and is deleted up to where it was drained; the second is kept forever. The
 * partition of a link does not matter, since there is never a second message about it; each write takes the next.
 */
import type { Clock } from '../../../base/clock.ts';
import type { KafkaAddress } from '../../../engines/kafka/address.ts';
import { KafkaUnavailable, unsent, within } from '../../../engines/kafka/failures.ts';
import { openKafkaGroup } from '../../../engines/kafka/group.ts';
import { openGroupProgress } from '../../../engines/kafka/offsets.ts';
import { openKafkaProducer } from '../../../engines/kafka/producer.ts';
import { openKafkaReader } from '../../../engines/kafka/reader.ts';
import { ensureTopic, type TopicPlan } from '../../../engines/kafka/topics.ts';
import type { DeadLetter, LinkQueue } from '../../queue.ts';
import { firstUnfinished, KafkaQueueConsumer } from './consumer.ts';
import { GatheredAppends, piecesOf } from './gathered-appends.ts';

export interface KafkaQueueOptions {
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
  /** The session timeout after which a draining process is considered dead. */
  readonly sessionMaxMs?: number;
  /** For a write, and for the wait behind the one in flight. */
  readonly writeMaxMs?: number;
}

const writeMaxMsDefault = 2_500;
/** Half of what brokers accept at once, because a character may be several bytes. */
const charactersMax = 400_000;
const forEver = { 'retention.ms': '-1', 'retention.bytes': '-1' } as const;
/** Deleting costs the brokers work, too. */
const deleteEveryMs = 60_000;
const pageBytesMax = 1024 * 1024;
const pageWaitMs = 500;
/** Consecutive pages without a message, of a partition that should have some. */
const emptyPagesMax = 20;

export const linksTopicOf = ({ topic }: Pick<KafkaAddress, 'topic'>): string => `${topic}-links`;
export const deadTopicOf = ({ topic }: Pick<KafkaAddress, 'topic'>): string => `${topic}-links-dead`;
export const drainGroupOf = (address: Pick<KafkaAddress, 'topic'>): string =>
  `${linksTopicOf(address)}-drain`;

export const linksTopicPlan = (address: KafkaAddress): TopicPlan => ({
  topic: linksTopicOf(address),
  partitions: address.partitions,
  configs: forEver,
});
export const deadTopicPlan = (address: KafkaAddress): TopicPlan => ({
  topic: deadTopicOf(address),
  partitions: 1,
  configs: forEver,
});

export function openKafkaQueue(address: KafkaAddress, options: KafkaQueueOptions): LinkQueue {
  const { clock, onError, sessionMaxMs, writeMaxMs = writeMaxMsDefault } = options;
  const topic = linksTopicOf(address);
  const deadTopic = deadTopicOf(address);
  const ours: KafkaAddress = { ...address, topic, group: drainGroupOf(address) };
  const producer = openKafkaProducer(ours, { clock });
  const reader = openKafkaReader(ours, { clock });
  const progress = openGroupProgress(ours, { clock });
  const ensured = new Map<string, Promise<boolean>>();
  let lastPartition = 0;
  let deletedAtMs = clock.monotonicMs();

  /** Requested once, and again after a failure. */
  const ensure = (plan: TopicPlan): Promise<boolean> => {
    const known = ensured.get(plan.topic);
    if (known !== undefined) return known;
    const ensuring = ensureTopic(ours, plan, clock);
    ensured.set(plan.topic, ensuring);
    ensuring.catch(() => ensured.delete(plan.topic));
    return ensuring;
  };
  const prepare = async (): Promise<void> => void (await ensure(linksTopicPlan(address)));

  const appends = new GatheredAppends({
    async write(messages) {
      // Creating a topic may take longer than a caller should wait; it is created anyway.
      await within(clock, writeMaxMs, 'waiting for the topic', prepare).catch(unsent);
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

  /** The offset of each partition's first unfinished message, and where the partition ends. */
  async function unfinished(): Promise<{ from: Map<number, number>; ends: Map<number, number> }> {
    await prepare();
    // In this order: messages finished and appended in the meantime then count as unfinished, and the count is never
    // negative.
    const earliest = await reader.offsets(topic, 'earliest');
    const committed = await progress.committed(earliest.size);
    const ends = await reader.offsets(topic, 'latest');
    return { from: firstUnfinished([...ends.keys()], { committed, earliest, ends }), ends };
  }

  /** Finished messages are of no further use. */
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
    async deadLetter(letters) {
      await ensure(deadTopicPlan(address));
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

/** Less than half of what brokers accept at once. */
export const letterBytesMax = 400_000;
/** Enough to understand it; some reasons repeat the message. */
const reasonCharactersMax = 1_000;

/**
 * Dead letters as messages that brokers accept. A message that cannot become a link may be anything that a broker once
 * accepted, and grows when encoded: an invalid byte becomes three, a control character six. A letter that is rejected
 * for its size would be retried forever, and everything behind it would wait.
 * Invariant: every letter fits into a write, and one that had to be cut says how long it was.
 *
 * What fits into one write each, in order.
 */
export function letterPieces(letters: readonly DeadLetter[]): Generator<readonly Buffer[]> {
  return piecesOf(letters.map(messageOf), letterBytesMax);
}

function messageOf(letter: DeadLetter): Buffer {
  const whole = encode(letter);
  return whole.length <= letterBytesMax ? whole : cut(letter);
}

/** Halves the text until it fits, because the size of a character differs. */
function cut({ text, place, reason }: DeadLetter): Buffer {
  const shortReason = reason.slice(0, reasonCharactersMax);
  for (let kept = text.length; ; kept = Math.floor(kept / 2)) {
    const note = kept < text.length ? ` (of ${text.length} characters only the first ${kept} are kept)` : '';
    const message = encode({ text: text.slice(0, kept), place, reason: shortReason + note });
    if (message.length <= letterBytesMax || kept === 0) return message;
  }
}

const encode = (letter: DeadLetter): Buffer => Buffer.from(JSON.stringify(letter));
