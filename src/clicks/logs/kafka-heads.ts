/**
 * How far producers on all machines have numbered their clicks. Each announces its own newest number every few seconds
 * in a topic that keeps the last message of each; the process that reconciles reads it and continues from there the
 * next time. What a killed producer noted after its last message is announced by the next process on its machine, from
 * the page that outlived it; a dead producer with clicks still spilled is announced repeatedly in the same way. A
 * machine that never comes back leaves a few seconds of clicks that are unknown.
 */
import { type Clock, sleep } from '../../base/clock.ts';
import type { KafkaProducer } from '../../engines/kafka/producer.ts';
import type { KafkaReader } from '../../engines/kafka/reader.ts';
import type { TopicPlan } from '../../engines/kafka/topics.ts';
import type { ProducerHead } from '../log.ts';

export const headsTopic = (topic: string): string => `${topic}-heads`;

/**
 * Old messages are compacted within minutes, so that the topic stays as short as the list of producers; producers
 * expire.
 */
export function headsTopicPlan(topic: string, keptMs: number): TopicPlan {
  const configs = {
    'cleanup.policy': 'compact,delete',
    'retention.ms': String(keptMs),
    'segment.ms': '600000',
    'min.cleanable.dirty.ratio': '0.1',
  };
  return { topic: headsTopic(topic), partitions: 1, configs };
}

/** Several times as long as the pause between two announcements, and some for clocks that differ. */
export const aliveMs = 20_000;
const readOptions = { bytesMax: 1024 * 1024, waitMaxMs: 0 };
const partition = 0;
/** A partition may have no leader for a moment, as one that was just made. */
const attemptsMax = 20;
const attemptPauseMs = 100;

type Announcement = Pick<ProducerHead, 'sequence' | 'lastClickAt' | 'storedUntil'>;

export async function announceHeads(
  kafka: KafkaProducer,
  topic: string,
  heads: readonly ProducerHead[],
): Promise<void> {
  if (heads.length === 0) return;
  await kafka.send(
    heads.map(({ producer, sequence, lastClickAt, storedUntil }) => ({
      topic: headsTopic(topic),
      partition,
      key: producer,
      value: Buffer.from(JSON.stringify({ sequence, lastClickAt, storedUntil } satisfies Announcement)),
    })),
  );
}

/** All that was announced, as far as it was read. */
export class HeadBook {
  readonly #reader: KafkaReader;
  readonly #topic: string;
  readonly #clock: Clock;
  readonly #heads = new Map<string, Announcement & { readonly at: number }>();
  #position = 0;

  constructor(reader: KafkaReader, topic: string, clock: Clock) {
    this.#reader = reader;
    this.#topic = headsTopic(topic);
    this.#clock = clock;
  }

  /**
   * A producer that has fallen silent is dead once all that was written until some time after its last word is counted:
   * until then what is missing of it may still come.
   */
  async heads(countedUntil = this.#clock.now()): Promise<ProducerHead[]> {
    await this.#readOn();
    return [...this.#heads].map(([producer, { at, ...announced }]) => ({
      producer,
      ...announced,
      alive: countedUntil - at < aliveMs,
    }));
  }

  async #readOn(): Promise<void> {
    for (let [isBehind, attempt] = [true, 1]; isBehind; ) {
      const from = new Map([[partition, this.#position]]);
      const [fetched] = await this.#reader.fetch(this.#topic, from, readOptions);
      if (fetched === undefined) {
        if (attempt === attemptsMax)
          throw new Error(`the newest numbers of producers in ${this.#topic} cannot be read`);
        attempt += 1;
        await sleep(this.#clock, attemptPauseMs);
        continue;
      }
      attempt = 1;
      for (const { key, value, at } of fetched.messages) this.#take(String(key), value, at);
      this.#position = fetched.next;
      isBehind = fetched.next < fetched.end;
    }
  }

  #take(producer: string, value: Buffer, at: number): void {
    // `terse doctor` tries with an empty message whether writes are acknowledged.
    if (value.length === 0) return;
    const announced = announcementIn(value, at);
    const known = this.#heads.get(producer);
    // A late message takes no click back.
    if (known !== undefined && known.sequence > announced.sequence)
      this.#heads.set(producer, { ...known, at });
    else this.#heads.set(producer, { ...announced, at });
  }
}

/** A process of an older version does not say until when its clicks are stored; usually that is soon. */
function announcementIn(value: Buffer, at: number): Announcement {
  try {
    const { sequence, lastClickAt, storedUntil } = JSON.parse(value.toString()) as Partial<Announcement>;
    return {
      sequence: Number(sequence) || 0,
      lastClickAt: Number(lastClickAt) || 0,
      storedUntil: Number(storedUntil ?? at - aliveMs) || 0,
    };
  } catch {
    return { sequence: 0, lastClickAt: 0, storedUntil: 0 };
  }
}
