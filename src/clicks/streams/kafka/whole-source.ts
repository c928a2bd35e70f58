/**
 * A topic as it is read to be counted anew. What comes of that takes the place of the old counts, so a partition that
 * does not answer must not pass for one that has nothing, nor an empty topic for the one that was counted.
 *
 * Invariant: each partition is read at least to where it ended when this was opened, or reading it fails.
 */
import { type Clock, sleep } from '../../../base/clock.ts';
import { Problem } from '../../../base/errors.ts';
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import { KafkaUnavailable } from '../../../engines/kafka/failures.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import type { ClickSource } from '../../stream.ts';
import { isOfTopic, type KafkaSource, partitionName } from './source.ts';

export interface WholeSourceOptions {
  readonly reader: Pick<KafkaReader, 'offsets' | 'partitions'>;
  readonly source: Pick<KafkaSource, 'read' | 'close'>;
  readonly topic: string;
  readonly clock: Clock;
}

/** A partition may have no leader for a moment. */
const attemptsMax = 20;
const attemptPauseMs = 250;

/** Refuses a topic that ends before where its partitions were read to, by whoever counted or archived them. */
export async function openWholeSource(
  { reader, source, topic, clock }: WholeSourceOptions,
  readTo: ReadonlyMap<string, number>,
): Promise<ClickSource> {
  const latest = await allOffsets(reader, topic, 'latest');
  const ends = new Map([...latest].map(([partition, end]) => [partitionName(topic, partition), end]));
  for (const [name, position] of readTo) {
    const end = ends.get(name) ?? 0;
    if (isOfTopic(topic, name) && end < position)
      throw new Problem('clicks_not_kept', {
        detail: `${name} ends at ${end} and was read up to ${position} before: the topic was made anew or has lost clicks, and counting it again would lose their counts.`,
      });
  }

  return {
    behind: async positions =>
      [...ends].filter(([name, end]) => end > (positions.get(name) ?? 0)).map(([name]) => ({ name })),
    async read(partition, position, bytesMax) {
      for (let attempt = 1; ; attempt += 1) {
        const batches = await source.read(partition, position, bytesMax);
        if (batches.length > 0 || position >= (ends.get(partition) ?? 0)) return batches;
        if (attempt === attemptsMax)
          throw new KafkaUnavailable(`${partition} cannot be read at ${position}, which is not its end`);
        await sleep(clock, attemptPauseMs);
      }
    },
    close: () => source.close(),
  };
}
