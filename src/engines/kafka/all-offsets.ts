/**
 * Offsets of every partition of a topic, or none at all: for those who would take a partition that is left out for one
 * that has nothing.
 */
import { KafkaUnavailable } from './failures.ts';
import type { KafkaReader } from './reader.ts';

export async function allOffsets(
  reader: Pick<KafkaReader, 'offsets' | 'partitions'>,
  topic: string,
  at: Parameters<KafkaReader['offsets']>[1],
): Promise<Map<number, number>> {
  const offsets = await reader.offsets(topic, at);
  if (offsets.size < (await reader.partitions(topic)))
    throw new KafkaUnavailable(`some partitions of ${topic} have no leader`);
  return offsets;
}
