/** Clicks in Kafka, read again; and the pause in counting that ClickHouse needs for a repair. */
import { systemClock } from '../base/clock.ts';
import { alone } from '../clicks/counting-pause.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { createKafkaPause } from '../clicks/streams/kafka/pause.ts';
import { createKafkaReplay } from '../clicks/streams/kafka/replay.ts';
import { openGroupProgress } from '../engines/kafka/group-progress.ts';
import { openClickKafka } from './kafka-clicks.ts';
import type { ReplaySources } from './reconcile-thread.ts';
import { countsInSqlite, openClickHouseWarehouse } from './warehouse-access.ts';

export function openKafkaReplaySources(settings: ClickSettings): ReplaySources {
  const clock = systemClock;
  const kafka = openClickKafka(settings);
  const { address, topic, reader } = kafka;
  const stream = createKafkaReplay({ ...kafka, clock });
  if (countsInSqlite(settings)) return { stream, hasTimes: true, pause: alone };
  const pause = createKafkaPause({
    progress: openGroupProgress(address, { clock }),
    partitions: () => reader.partitions(topic),
    hold: openClickHouseWarehouse(settings).hold,
    clock,
  });
  return { stream, hasTimes: true, pause };
}
