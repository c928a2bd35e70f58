/**
 * Clicks in Kafka, read again from a time on. Kafka knows of each partition the first message that was written at a time
 * or later, so nothing before it is read.
 */
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import type { ReplayableStream } from '../../replay.ts';
import { begunAt, type KeptTopic, keptSince } from './kept.ts';
import { isOfTopic, type KafkaSource, partitionName } from './source.ts';

export interface KafkaReplayOptions extends KeptTopic {
  readonly source: Pick<KafkaSource, 'take'>;
}

/** A partition that gives nothing has no leader for the moment; waiting is the pause before the next attempt. */
const readOptions = { bytesMax: 4 * 1024 * 1024, waitMaxMs: 200 };

export function createKafkaReplay(options: KafkaReplayOptions): ReplayableStream {
  const { source, reader, topic } = options;
  return {
    /** Of all partitions: one that is left out counts as read. */
    async positionsAt(time) {
      const offsets = await allOffsets(reader, topic, { time: Math.max(0, time) });
      return new Map([...offsets].map(([partition, offset]) => [partitionName(topic, partition), offset]));
    },
    async readUntil(partition, position, end) {
      const taken = (await source.take(new Map([[partition, position]]), readOptions)).get(partition);
      const items = (taken?.items ?? []).filter(item => item.position < end);
      return { items, to: Math.min(end, taken?.to ?? position) };
    },
    keptSince: () => keptSince(options),
    begunAt: () => begunAt(options),
    isOwn: partition => isOfTopic(topic, partition),
  };
}
