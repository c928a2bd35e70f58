/**
 * Where the clicks of an edge's log go when the stream is Kafka. A click's number in its partition follows from the
 * clicks before it, so those that were stored by an earlier run are counted again and not sent; and a message that was
 * sent twice, because a crash came before that was noted, is counted once by its numbers.
 */
import type { KafkaProducer } from '../../../engines/kafka/producer.ts';
import { clickCount } from '../../batch.ts';
import type { ImportSink } from '../../edge-import.ts';
import { PartitionNumbers, partitionOf } from '../../partition-numbers.ts';
import { createKafkaSink } from './sink.ts';

export interface KafkaImportOptions {
  readonly kafka: KafkaProducer;
  readonly topic: string;
  readonly partitions: number;
  readonly producer: string;
  readonly stored: { read(): number | undefined; write(stored: number): void };
}

export function openKafkaImport({
  kafka,
  topic,
  partitions,
  producer,
  stored,
}: KafkaImportOptions): ImportSink {
  const sink = createKafkaSink({ kafka, topic, producer });
  const given = new Float64Array(partitions);
  const numbers = new PartitionNumbers(given);
  return {
    stored: stored.read() ?? 0,
    pass(code) {
      given[partitionOf(code, partitions)]! += 1;
    },
    async append(batch) {
      await sink.append(numbers.number(batch));
      stored.write(batch.firstSequence + clickCount(batch) - 1);
    },
    close: () => sink.close(),
  };
}
