/**
 * What a topic still has. A partition that has lost nothing yet says nothing about it; of the others it is the one that
 * was cut last from which on everything is there.
 */
import { allOffsets } from '../../../engines/kafka/all-offsets.ts';
import { firstTimes, type ReadTopic } from '../../../engines/kafka/first-times.ts';
import type { KafkaReader } from '../../../engines/kafka/reader.ts';
import { grainMs } from '../../warehouse.ts';

export interface KeptTopic extends ReadTopic {
  readonly reader: Pick<KafkaReader, 'offsets' | 'partitions' | 'fetch'>;
  /** For how long messages are kept, as far as we know. */
  readonly retentionMs: number;
}

/** Everything that was written since then is still there. One that is empty by now has lost what was older than it is kept. */
export async function keptSince(kept: KeptTopic): Promise<number> {
  const earliest = await allOffsets(kept.reader, kept.topic, 'earliest');
  const cut = new Map([...earliest].filter(([, offset]) => offset > 0));
  const times = await firstTimes(kept, cut);
  const emptiedAt = kept.clock.now() - kept.retentionMs;
  return Math.max(0, ...[...cut.keys()].map(partition => times.get(partition) ?? emptiedAt));
}

/** When the first of what is there was written; infinite when nothing is. */
export async function begunAt(kept: KeptTopic): Promise<number> {
  const times = await firstTimes(kept, await allOffsets(kept.reader, kept.topic, 'earliest'));
  return Math.min(Number.POSITIVE_INFINITY, ...times.values());
}

/**
 * From when on a rebuild finds everything. What was counted before the day on which the topic began comes from another
 * stream; undefined when nothing is there, and nothing was lost.
 */
export async function keptFrom(kept: KeptTopic): Promise<number | undefined> {
  const [begun, since] = [await begunAt(kept), await keptSince(kept)];
  if (Number.isFinite(begun)) return Math.max(since, Math.floor(begun / grainMs.day) * grainMs.day);
  return since === 0 ? undefined : since;
}
