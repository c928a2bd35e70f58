/** What reports need beside the counts, out of Kafka. */
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { exportKafkaPart } from '../clicks/streams/kafka/export.ts';
import { HeadBook } from '../clicks/streams/kafka/heads.ts';
import type { Warehouse } from '../clicks/warehouse.ts';
import { isPassing, KafkaRefusal, KafkaUnavailable } from '../engines/kafka/failures.ts';
import { openClickKafka } from './kafka-clicks.ts';
import type { StatsSources } from './stats-sources.ts';

/** Enough for one message of each partition. */
const look = { bytesMax: 1, waitMaxMs: 0 };

export function openKafkaStatsSources(
  settings: Pick<ClickSettings, 'stream'>,
  warehouse: () => Pick<Warehouse, 'positions'>,
): StatsSources {
  const { address, topic, reader, source } = openClickKafka(settings);
  const book = new HeadBook(reader, topic, systemClock);

  /** When the oldest message that is not counted was written; now, when all are. */
  async function countedUntil(): Promise<number> {
    const positions = await warehouse().positions();
    const behind = await source.behind(positions);
    const wanted = new Map(behind.map(({ name }) => [name, positions.get(name) ?? 0]));
    const taken = await source.take(wanted, look);
    const times = [...taken.values()].flatMap(({ items }) =>
      items.slice(0, 1).map(({ storedAt }) => storedAt),
    );
    return Math.min(systemClock.now(), ...times);
  }

  return {
    heads: () => told(async () => book.heads(await countedUntil())),
    exportPart: (filter, cursor, forgottenBefore) =>
      told(() =>
        exportKafkaPart({ source, topic, partitions: address.partitions }, filter, cursor, forgottenBefore),
      ),
  };
}

/** Whoever asks is told the same whichever engine of the answer is away. */
async function told<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const isOfKafka = error instanceof KafkaUnavailable || error instanceof KafkaRefusal;
    if (!isOfKafka || !isPassing(error)) throw error;
    throw new Problem('stats_unavailable', { detail: 'Kafka does not answer for now.', cause: error });
  }
}
