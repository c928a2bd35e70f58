/**
 * Clicks in Kafka, read again from a time on. Kafka knows of each partition the first message that was written at a time
 * or later, so nothing before it is read.
 */
import type { Clock } from '../../../base/clock.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import type { ReplayableStream } from '../../replay.ts';
import type { KafkaSource } from './source.ts';

export interface KafkaReplayOptions {
  readonly source: Pick<KafkaSource, 'take' | 'positionsAt'>;
  readonly reader: Pick<KafkaReader, 'offsets' | 'fetch'>;
  readonly topic: string;
  /** For how long messages are kept, as far as we know. */
  readonly retentionMs: number;
  readonly clock: Clock;
}

/** A partition that gives nothing has no leader for the moment; waiting is the pause before the next attempt. */
const readOptions = { bytesMax: 4 * 1024 * 1024, waitMaxMs: 200 };
const look = { bytesMax: 1, waitMaxMs: 0 };

export function createKafkaReplay(options: KafkaReplayOptions): ReplayableStream {
  const { source, reader, topic, retentionMs, clock } = options;
  /** When the message at each offset was written; a partition that ends there is left out. */
  async function firstTimes(offsets: ReadonlyMap<number, number>): Promise<Map<number, number>> {
    const fetched = await reader.fetch(topic, offsets, look);
    return new Map(
      fetched.flatMap(({ partition, messages }): [number, number][] =>
        messages.slice(0, 1).map(({ at }) => [partition, at]),
      ),
    );
  }

  return {
    positionsAt: time => source.positionsAt(Math.max(0, time)),
    async readUntil(partition, position, end) {
      const taken = (await source.take(new Map([[partition, position]]), readOptions)).get(partition);
      const items = (taken?.items ?? []).filter(item => item.position < end);
      return { items, to: Math.min(end, taken?.to ?? position) };
    },
    /** A partition that has lost nothing yet says nothing; one that is empty by now has lost what was older than it is kept. */
    async keptSince() {
      const earliest = await reader.offsets(topic, 'earliest');
      const cut = new Map([...earliest].filter(([, offset]) => offset > 0));
      const times = await firstTimes(cut);
      return Math.max(
        0,
        ...[...cut.keys()].map(partition => times.get(partition) ?? clock.now() - retentionMs),
      );
    },
    begunAt: async () =>
      Math.min(
        Number.POSITIVE_INFINITY,
        ...(await firstTimes(await reader.offsets(topic, 'earliest'))).values(),
      ),
    isOwn: partition => partition.startsWith(`${topic}/`),
  };
}
