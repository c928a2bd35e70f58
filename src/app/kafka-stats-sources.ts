/** What reports need beside the counts, out of Kafka. */
import { systemClock } from '../base/clock.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { exportKafkaPart } from '../clicks/streams/kafka/export.ts';
import { HeadBook } from '../clicks/streams/kafka/heads.ts';
import { partitionNumber } from '../clicks/streams/kafka/source.ts';
import type { Warehouse } from '../clicks/warehouse.ts';
import { firstTimes } from '../engines/kafka/first-times.ts';
import { openClickKafka } from './kafka-clicks.ts';
import { told } from './kafka-told.ts';
import type { StatsSources } from './stats-sources.ts';

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
    const wanted = new Map(behind.map(({ name }) => [partitionNumber(name), positions.get(name) ?? 0]));
    const times = await firstTimes({ reader, topic, clock: systemClock }, wanted);
    return Math.min(systemClock.now(), ...times.values());
  }

  return {
    heads: () => told(async () => book.heads(await countedUntil())),
    exportPart: (filter, cursor, forgottenBefore) =>
      told(() =>
        exportKafkaPart({ source, topic, partitions: address.partitions }, filter, cursor, forgottenBefore),
      ),
  };
}
