/**
 * Kafka for the live view: only the partitions of the codes that somebody watches are read, and each from where it ended
 * when the first of them was watched. A link's clicks, wherever they were noted, lie in one partition.
 */
import { partitionOf } from '../../partition-numbers.ts';
import type { ClickSource } from '../../stream.ts';
import { type KafkaSource, partitionName } from './source.ts';

export interface KafkaLiveSource extends Pick<ClickSource, 'behind' | 'read'> {
  watch(codes: readonly string[]): void;
}

export function createKafkaLiveSource(
  source: Pick<KafkaSource, 'ends' | 'read'>,
  { topic, partitions }: { topic: string; partitions: number },
): KafkaLiveSource {
  let codes: readonly string[] = [];
  /** Where each watched partition ended when watching began. */
  let begun = new Map<string, number>();

  return {
    watch(watched) {
      codes = watched;
    },
    async behind(positions) {
      const ends = await source.ends();
      // A topic with fewer partitions than we use keeps the rest in those that it has.
      const watched = new Set(
        codes.map(code => partitionName(topic, partitionOf(code, partitions) % ends.size)),
      );
      begun = new Map([...watched].map(name => [name, begun.get(name) ?? ends.get(name) ?? 0]));
      return [...begun]
        .filter(([name, start]) => (ends.get(name) ?? 0) > Math.max(start, positions.get(name) ?? 0))
        .map(([name]) => ({ name }));
    },
    read: (partition, position, bytesMax) =>
      source.read(partition, Math.max(position, begun.get(partition) ?? 0), bytesMax),
  };
}
