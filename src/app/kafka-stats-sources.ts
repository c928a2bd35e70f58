/** What reports need beside the counts, out of Kafka. */
import { systemClock } from '../base/clock.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { exportKafkaPart } from '../clicks/streams/kafka/export.ts';
import { HeadBook } from '../clicks/streams/kafka/heads.ts';
import type { Warehouse } from '../clicks/warehouse.ts';
import { openClickKafka } from './kafka-clicks.ts';
import type { StatsSources } from './stats-sources.ts';

/** Enough for one message of each partition. */
const look = { bytesMax: 1, waitMaxMs: 0 };

export function openKafkaStatsSources(
  settings: ClickSettings,
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
    heads: async () => book.heads(await countedUntil()),
    exportPart: (filter, cursor, forgottenBefore) =>
      exportKafkaPart({ source, topic, partitions: address.partitions }, filter, cursor, forgottenBefore),
  };
}
