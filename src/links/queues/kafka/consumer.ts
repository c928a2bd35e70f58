/**
 * One of those who take messages from the topic: a member of the group, which has some of its partitions to itself for
 * a term. Positions begin with what the group has committed and are only ever moved by reading; finishing commits them.
 * When the term is over, everything that was read and not committed is dropped here and read again by whoever has the
 * partition then, which may be us.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { KafkaFenced } from '../../../engines/kafka/failures.ts';
import type { CommittedOffset, GroupTerm, KafkaGroup } from '../../../engines/kafka/group.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import type { QueueConsumer, QueuedMessage } from '../../queue.ts';
import { firstUnfinished } from './first-unfinished.ts';

export interface KafkaConsumerOptions {
  readonly topic: string;
  readonly group: KafkaGroup;
  readonly reader: Pick<KafkaReader, 'fetch' | 'offsets'>;
  readonly clock: Clock;
  /** Makes sure that the topic is there. */
  readonly prepare: () => Promise<void>;
  /** Told what was finished. */
  readonly onFinished: (offsets: ReadonlyMap<number, number>) => void;
}

interface ReadMessage extends QueuedMessage {
  readonly partition: number;
  readonly offset: number;
}

const bytesMax = 1024 * 1024;
/** A group that changes hands has no messages for us, but will soon. */
const changingPauseMs = 100;

export class KafkaQueueConsumer implements QueueConsumer {
  readonly #options: KafkaConsumerOptions;
  #term: GroupTerm | undefined;
  #positions = new Map<number, number>();
  #read: ReadMessage[] = [];
  /** Behind the last message that was given, by partition. */
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
      // Whoever has the partitions now is given the messages again.
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
    // At once, because soon there may be so many new messages that the old place is a possible one again.
    if (lowered.length > 0) await term.commit(commitsOf(lowered));
    this.#term = term;
  }

  async #fetch(waitMs: number): Promise<void> {
    const { topic, reader, clock } = this.#options;
    // Of a group with more members than partitions some have none.
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
