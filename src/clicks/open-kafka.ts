/** The click log in Kafka that the settings name, for the threads and tools that use it. */
import { join } from 'node:path';
import { type Clock, sleep, systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { type KafkaAddress, parseKafkaAddress } from '../engines/kafka/address.ts';
import { isTransient, KafkaRefusal, KafkaUnavailable } from '../engines/kafka/failures.ts';
import { openKafkaGroup } from '../engines/kafka/group.ts';
import { firstTimes, openGroupProgress } from '../engines/kafka/offsets.ts';
import { type KafkaReader, openKafkaReader } from '../engines/kafka/reader.ts';
import { ensureTopic, type TopicPlan } from '../engines/kafka/topics.ts';
import { type Archive, Archiver } from './archive.ts';
import { type ClickLog, LogUnavailable, partitionsBehind } from './log.ts';
import { readForgotten } from './log-folder.ts';
import { createKafkaLog, partitionNumber } from './logs/kafka.ts';
import { KafkaArchivable } from './logs/kafka-archive.ts';
import { type ArchivedDay, openArchivedLog } from './logs/kafka-archived.ts';
import { createKafkaPause } from './logs/kafka-group.ts';
import { HeadBook, headsTopic, headsTopicPlan } from './logs/kafka-heads.ts';
import { countsInSqlite, openClickHouseWarehouse, openWarehouseAccess } from './open-warehouse.ts';
import { keptFrom, recountLog, refuseTruncated } from './replay.ts';
import type { LogSources } from './reports.ts';
import type { ClickSettings } from './settings.ts';
import { SettledTime } from './settling.ts';
import { alone, type CountingPause, type Warehouse } from './warehouse.ts';

export interface OpenKafka {
  readonly address: KafkaAddress;
  readonly topic: string;
  readonly reader: KafkaReader;
  readonly log: ClickLog;
}

const clock = systemClock;
const hourMs = 60 * 60_000;
const dayMs = 24 * hourMs;
const topicsPauseMs = 3_000;

/** Connects when it is first used. */
export function openClickKafka(
  settings: Pick<ClickSettings, 'stream'>,
  options: {
    readonly clock?: Clock;
    readonly openReader?: typeof openKafkaReader;
    readonly onPoison?: (partition: string, offset: number) => void;
  } = {},
): OpenKafka {
  const { clock = systemClock, openReader = openKafkaReader, onPoison } = options;
  const address = parseKafkaAddress(settings.stream);
  const { topic, partitions, retentionHours } = address;
  const reader = openReader(address, { clock });
  const log = createKafkaLog({
    reader,
    topic,
    partitions,
    retentionMs: retentionHours * hourMs,
    clock,
    ...(onPoison && { onPoison }),
  });
  return { address, topic, reader, log };
}

export function clickTopicPlans(address: KafkaAddress, rawDays: number): TopicPlan[] {
  const { topic, partitions, retentionHours } = address;
  return [
    { topic, partitions, configs: { 'retention.ms': String(retentionHours * hourMs) } },
    headsTopicPlan(topic, rawDays * dayMs),
  ];
}

/** The name under which processes elect the one that archives. */
export const archiveGroupOf = ({ group }: Pick<KafkaAddress, 'group'>): string => `${group}-archive`;

/** Retries until the topics exist; code that needs them meanwhile fails and retries. The returned function stops it. */
export function keepMakingTopics(
  { address }: OpenKafka,
  { rawDays }: Pick<ClickSettings, 'rawDays'>,
  onProblem: (what: string, error: unknown) => void,
  engine: { readonly clock: Clock; readonly ensureTopic: typeof ensureTopic } = { clock, ensureTopic },
): () => void {
  let isOver = false;
  const make = async (): Promise<void> => {
    while (!isOver) {
      try {
        for (const plan of clickTopicPlans(address, rawDays))
          await engine.ensureTopic(address, plan, engine.clock);
        return;
      } catch (error) {
        onProblem('topics for clicks cannot be made', error);
        await sleep(engine.clock, topicsPauseMs);
      }
    }
  };
  void make();
  return () => {
    isOver = true;
  };
}

/** The client gets the same problem whichever engine of the answer is down. */
export async function mapKafkaError<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
  try {
    return await ask();
  } catch (error) {
    const isOfKafka = error instanceof KafkaUnavailable || error instanceof KafkaRefusal;
    if (!(error instanceof LogUnavailable) && !(isOfKafka && isTransient(error))) throw error;
    throw new Problem('stats_unavailable', { detail: 'Kafka does not answer.', cause: error });
  }
}

export function openKafkaSources(
  settings: Pick<ClickSettings, 'stream' | 'stats' | 'rawDays'>,
  warehouse: () => Pick<Warehouse, 'positions'>,
): LogSources {
  const kafka = openClickKafka(settings);
  const { topic, reader, log } = kafka;
  const book = new HeadBook(reader, topic, clock);
  const positions = () => warehouse().positions();
  const settled = new SettledTime({ positions, log });

  /** When the oldest uncounted message was written; now, when all are counted. */
  async function countedUntil(): Promise<number> {
    const counted = await positions();
    const behind = await partitionsBehind(log, counted);
    const wanted = new Map(behind.map(({ name }) => [partitionNumber(name), counted.get(name) ?? 0]));
    const times = await firstTimes({ reader, topic, clock }, wanted);
    return Math.min(clock.now(), ...times.values());
  }

  return {
    log,
    heads: () => mapKafkaError(async () => book.heads(await countedUntil())),
    settledUntil: heads => mapKafkaError(() => settled.until(heads, clock.now())),
    hasTimes: true,
    pause: countsInSqlite(settings) ? alone : pauseOf(kafka, settings),
    ask: mapKafkaError,
  };
}

function pauseOf(
  { address, topic, reader }: OpenKafka,
  settings: Pick<ClickSettings, 'stats' | 'rawDays'>,
): CountingPause {
  return createKafkaPause({
    progress: openGroupProgress(address, { clock }),
    partitions: () => reader.partitions(topic),
    hold: openClickHouseWarehouse(settings).hold,
    clock,
  });
}

/** Recounts everything that the topic still has; rejects if a counted part of it cannot be read. */
export async function recountKafka(
  warehouse: Warehouse,
  log: ClickLog,
  onPause?: () => Promise<void>,
): Promise<void> {
  // Counted positions are read first, because the topic grows meanwhile.
  await refuseTruncated(log, await warehouse.positions());
  await recountLog(warehouse, {
    log,
    keptFrom: await keptFrom(log),
    producers: (await warehouse.producers()).map(({ producer }) => producer),
    clock,
    onPause,
  });
}

/** Every process has an archiver; the brokers elect the one that works. */
export function openKafkaArchiver(
  stream: string,
  archive: Archive,
  onProblem: (what: string, error: unknown) => void,
): Archiver {
  const { address, topic, reader } = openClickKafka({ stream });
  const archivers = { ...address, topic: headsTopic(topic), group: archiveGroupOf(address) };
  const group = openKafkaGroup(archivers, { clock });
  return new Archiver(new KafkaArchivable({ archive, reader, group, topic, clock, onProblem }), onProblem);
}

/** Recounts everything from an archived day on: first from the archive, then from Kafka. */
export async function recountFromArchive(
  settings: Pick<ClickSettings, 'stream' | 'stats' | 'rawDays'> & { readonly dataFolder: string },
  archive: Archive,
  firstDay: string,
): Promise<readonly ArchivedDay[]> {
  const { dataFolder } = settings;
  const kafka = openClickKafka(settings);
  const access = openWarehouseAccess({ ...settings, warehousePath: join(dataFolder, 'stats.db') });
  try {
    const archived = await openArchivedLog({ ...kafka, archive }, firstDay);
    const warehouse = access.get();
    if (countsInSqlite(settings)) {
      // What was deleted stays deleted, also in recounted data.
      for (const [code, at] of readForgotten(join(dataFolder, 'kafka')))
        if ((await warehouse.forgottenBefore(code)) < at) await warehouse.forget(code, at);
    }
    await recountLog(warehouse, {
      log: archived,
      keptFrom: Date.parse(firstDay),
      producers: (await warehouse.producers()).map(({ producer }) => producer),
      clock,
    });
    return archived.days;
  } finally {
    access.close();
    await kafka.log.close();
  }
}
