/**
 * Clicks out of Kafka, from any place. A partition is named after its topic and number, a position is an offset. What is
 * no frame of ours is told of and passed over.
 */
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import { type BlockSource, type StreamItem, stretchOf, type Taken } from '../../consumed-stream.ts';
import { soundFrame } from '../../sound-frame.ts';
import type { ClickSource } from '../../stream.ts';

export interface KafkaSource extends ClickSource, BlockSource {
  /** Where each partition ends now. */
  ends(): Promise<Map<string, number>>;
  /** The first position of each partition that was written at a time or later. */
  positionsAt(time: number): Promise<Map<string, number>>;
}

export interface KafkaSourceOptions {
  readonly reader: KafkaReader;
  readonly topic: string;
  /** Hears of a message that is no frame of ours. */
  readonly onPoison: (partition: string, position: number) => void;
}

export const partitionName = (topic: string, partition: number): string => `${topic}/${partition}`;
export const isOfTopic = (topic: string, name: string): boolean => name.startsWith(`${topic}/`);
export const partitionNumber = (name: string): number => Number(name.slice(name.lastIndexOf('/') + 1));

export function createKafkaSource({ reader, topic, onPoison }: KafkaSourceOptions): KafkaSource {
  const named = (offsets: ReadonlyMap<number, number>): Map<string, number> =>
    new Map([...offsets].map(([partition, offset]) => [partitionName(topic, partition), offset]));

  const take: KafkaSource['take'] = async (positions, options) => {
    const wanted = new Map([...positions].map(([name, position]) => [partitionNumber(name), position]));
    const taken = new Map<string, Taken>();
    for (const { partition, messages, next, end } of await reader.fetch(topic, wanted, options)) {
      const name = partitionName(topic, partition);
      const items = messages.flatMap(({ offset, at, value }): StreamItem[] => {
        const frame = soundFrame(value);
        if (frame === undefined) {
          onPoison(name, offset);
          return [];
        }
        return [{ position: offset, storedAt: at, producer: frame.producer, batch: frame.batch }];
      });
      taken.set(name, { items, to: next, end });
    }
    return taken;
  };

  return {
    take,
    async behind(positions) {
      const ends = named(await reader.offsets(topic, 'latest'));
      return [...ends].filter(([name, end]) => end > (positions.get(name) ?? 0)).map(([name]) => ({ name }));
    },
    async read(partition, position, bytesMax) {
      const found = (await take(new Map([[partition, position]]), { bytesMax, waitMaxMs: 0 })).get(partition);
      return found === undefined ? [] : stretchOf(partition, position, found.to, found.items);
    },
    ends: async () => named(await reader.offsets(topic, 'latest')),
    positionsAt: async time => named(await reader.offsets(topic, { time })),
    close: () => reader.close(),
  };
}
