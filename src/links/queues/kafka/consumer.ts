/**
 * A consumer of the topic: a member of the group, which owns some of its partitions for a term. Offsets start with what
 * the group has committed and are only moved by reading; finishing commits them. When the term is over, everything that
 * was read and not committed is dropped here and read again by the next owner of the partition, which may be us.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { KafkaFenced } from '../../../engines/kafka/failures.ts';
import type { CommittedOffset, GroupTerm, KafkaGroup } from '../../../engines/kafka/group.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import type { QueueConsumer, QueuedMessage } from '../../queue.ts';

export interface KafkaConsumerOptions {
  readonly topic: string;
  readonly group: KafkaGroup;
  readonly reader: Pick<KafkaReader, 'fetch' | 'offsets'>;
  readonly clock: Clock;
  /** Makes sure that the topic exists. */
  readonly prepare: () => Promise<void>;
  /** Called with the finished offsets. */
  readonly onFinished: (offsets: ReadonlyMap<number, number>) => void;
}

interface ReadMessage extends QueuedMessage {
  readonly partition: number;
  readonly offset: number;
}

const bytesMax = 1024 * 1024;
/** A group that is rebalancing has no messages for us, but will soon. */
const changingPauseMs = 100;

export class KafkaQueueConsumer implements QueueConsumer {
  readonly #options: KafkaConsumerOptions;
  #term: GroupTerm | undefined;
  #positions = new Map<number, number>();
  #read: ReadMessage[] = [];
  /** After the last message that was delivered, by partition. */
  #given = new Map<number, number>();

  constructor(options: KafkaConsumerOptions) {
    this.#options = options;
  }

  async take(max: number, waitMs: number): Promise<readonly QueuedMessage[]> {
    try {
      await this.#join();
      if (this.#read.length === 0) await this.#fetch(waitMs);
    } catch (error) {
      if (!(error instanceof KafkaFenced)) throw error;
      await sleep(this.#options.clock, Math.min(waitMs, changingPauseMs));
      return [];
    }
    const given = this.#read.splice(0, max);
    for (const { partition, offset } of given) this.#given.set(partition, offset + 1);
    return given.map(({ text, place }) => ({ text, place }));
  }

  async finish(): Promise<void> {
    const offsets = this.#given;
    if (offsets.size === 0) return;
    this.#given = new Map();
    try {
      await this.#term?.commit(commitsOf(offsets));
      this.#options.onFinished(offsets);
    } catch (error) {
      // The new owner of the partitions receives the messages again.
      if (!(error instanceof KafkaFenced)) throw error;
    }
  }

  async close(): Promise<void> {
    await this.#options.group.close();
  }

  async #join(): Promise<void> {
    if (this.#term?.isCurrent === true) return;
    const { topic, group, reader, prepare } = this.#options;
    await prepare();
    this.#read = [];
    this.#given.clear();
    this.#term = undefined;
    const term = await group.term();
    const committed = await term.committed();
    const offsets = new Map([...committed].map(([partition, { offset }]) => [partition, offset]));
    const [earliest, ends] = await Promise.all([
      reader.offsets(topic, 'earliest'),
      reader.offsets(topic, 'latest'),
    ]);
    this.#positions = firstUnfinished(term.partitions, { committed: offsets, earliest, ends });
    const lowered = [...this.#positions].filter(
      ([partition, offset]) => offset < (offsets.get(partition) ?? 0),
    );
    // At once, because soon there may be so many new messages that the old offset is valid again.
    if (lowered.length > 0) await term.commit(commitsOf(lowered));
    this.#term = term;
  }

  async #fetch(waitMs: number): Promise<void> {
    const { topic, reader, clock } = this.#options;
    // In a group with more members than partitions some members have none.
    if (this.#positions.size === 0) return sleep(clock, waitMs);
    const fetched = await reader.fetch(topic, this.#positions, { bytesMax, waitMaxMs: waitMs });
    for (const { partition, messages, next } of fetched) {
      this.#positions.set(partition, next);
      for (const { offset, value } of messages) {
        this.#read.push({
          text: value.toString(),
          place: `${topic}/${partition}/${offset}`,
          partition,
          offset,
        });
      }
    }
  }
}

const commitsOf = (offsets: Iterable<readonly [number, number]>): Map<number, CommittedOffset> =>
  new Map([...offsets].map(([partition, offset]) => [partition, { offset, metadata: '' }]));

/**
 * The offset of the first unfinished message of each partition. A committed offset beyond the end belongs to a
 * partition that has lost its end since, by an unclean election or with a disk: the commit says nothing about the
 * messages that get those offsets now. All retained messages count as unfinished then, because one that is delivered
 * twice does no harm, and one that is skipped is lost.
 */
export interface KnownOffsets {
  /** By partition, as the two below; must have been fetched before the ends. */
  readonly committed: ReadonlyMap<number, number>;
  readonly earliest: ReadonlyMap<number, number>;
  readonly ends: ReadonlyMap<number, number>;
}

export function firstUnfinished(
  partitions: readonly number[],
  { committed, earliest, ends }: KnownOffsets,
): Map<number, number> {
  const firstOf = (partition: number): number => {
    const first = earliest.get(partition) ?? 0;
    const finished = committed.get(partition) ?? 0;
    // A partition without a leader has no end for now, and its group's commit is trusted.
    return finished > (ends.get(partition) ?? finished) ? first : Math.max(first, finished);
  };
  return new Map(partitions.map(partition => [partition, firstOf(partition)]));
}
