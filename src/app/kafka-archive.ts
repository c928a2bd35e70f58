/** The archive of clicks that go through Kafka: who archives them, and counting them again from there. */
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Archive } from '../clicks/archive.ts';
import { rebuildFrom } from '../clicks/rebuild.ts';
import { readForgotten } from '../clicks/streams/embedded/forgotten.ts';
import { type ArchivedDay, openArchivedSource } from '../clicks/streams/kafka/archived-source.ts';
import { KafkaArchiver } from '../clicks/streams/kafka/archiver.ts';
import { headsTopic } from '../clicks/streams/kafka/heads.ts';
import type { Warehouse } from '../clicks/warehouse.ts';
import { openKafkaGroup } from '../engines/kafka/group.ts';
import type { Config } from './config.ts';
import { openClickKafka } from './kafka-clicks.ts';
import { countsInSqlite, openWarehouseAccess } from './warehouse-access.ts';

/** Of all processes that have one, the brokers let one do the work. */
export function openKafkaArchiver(
  stream: string,
  archive: Archive,
  onProblem: (what: string, error: unknown) => void,
): KafkaArchiver {
  const clock = systemClock;
  const { address, topic, reader } = openClickKafka({ stream });
  const archivers = { ...address, topic: headsTopic(topic), group: `${address.group}-archive` };
  const group = openKafkaGroup(archivers, { clock });
  return new KafkaArchiver({ archive, reader, group, topic, clock, onProblem });
}

/** Counts everything from an archived day on anew: first out of the archive, then out of Kafka. */
export async function countFromArchive(
  config: Pick<Config, 'stream' | 'stats' | 'clickDays' | 'data'>,
  archive: Archive,
  firstDay: string,
): Promise<readonly ArchivedDay[]> {
  const { stats, data } = config;
  const kafka = openClickKafka(config);
  const settings = { stats, rawDays: config.clickDays, warehousePath: join(data, 'stats.db') };
  const access = openWarehouseAccess(settings);
  try {
    const source = await openArchivedSource({ ...kafka, archive, clock: systemClock }, firstDay);
    const warehouse = access.get();
    if (countsInSqlite(settings)) await takeMarks(warehouse, join(data, 'kafka'));
    await rebuildFrom(warehouse, {
      source,
      keptFrom: Date.parse(firstDay),
      producers: (await warehouse.producers()).map(({ producer }) => producer),
    });
    return source.days;
  } finally {
    access.close();
    await kafka.source.close();
  }
}

/** What was deleted stays deleted, also in counts that are made anew. */
async function takeMarks(warehouse: Warehouse, folder: string): Promise<void> {
  for (const [code, at] of readForgotten(folder)) {
    if ((await warehouse.forgottenBefore(code)) < at) await warehouse.forget(code, at);
  }
}
