/**
 * The path of clicks in the click thread. With the embedded log the thread stores and counts them; with Kafka it
 * numbers and sends them, and consumers count them (consumer.thread.ts).
 */

import { type Clock, systemClock } from '../base/clock.ts';
import { files } from '../base/files.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import type { openKafkaGroup } from '../engines/kafka/group.ts';
import type { openKafkaProducer } from '../engines/kafka/producer.ts';
import type { openKafkaReader } from '../engines/kafka/reader.ts';
import type { ensureTopic } from '../engines/kafka/topics.ts';
import { BacklogWriter, ClickBacklog } from './backlog.ts';
import type { ClickBatch } from './click.ts';
import { type ClickLog, livingProducers } from './log.ts';
import { headPath, markForgotten, type ProducerHeadFile, readHeads } from './log-folder.ts';
import { createEmbeddedLog } from './logs/embedded.ts';
import { applyRetention } from './logs/embedded-retention.ts';
import { countsInSqlite, openWarehouseAccess } from './open-warehouse.ts';
import { PartitionNumbers } from './partition-numbers.ts';
import { ClickPipeline, type PipelineCounts, type WarehouseAccess } from './pipeline.ts';
import type { RawBatch } from './recorder.ts';
import type { ClickSettings } from './settings.ts';
import { type SpillFolder, spilledProducers } from './spill-folder.ts';
import { maintainWarehouse, type WarehouseState } from './warehouse.ts';

/** The engines that the threads of the click path open; the simulator replaces them. */
export interface ClickEngines {
  readonly clock: Clock;
  readonly openWarehouse: (settings: ClickSettings) => WarehouseAccess;
  /** Loads Kafka's client, which most installations do not need. */
  readonly kafka: () => Promise<KafkaEngine>;
}

export interface KafkaEngine {
  readonly openProducer: typeof openKafkaProducer;
  readonly openReader: typeof openKafkaReader;
  readonly openGroup: typeof openKafkaGroup;
  readonly ensureTopic: typeof ensureTopic;
}

export const systemEngines: ClickEngines = {
  clock: systemClock,
  openWarehouse: openWarehouseAccess,
  async kafka() {
    const [producer, reader, group, topics] = await Promise.all([
      import('../engines/kafka/producer.ts'),
      import('../engines/kafka/reader.ts'),
      import('../engines/kafka/group.ts'),
      import('../engines/kafka/topics.ts'),
    ]);
    return {
      openProducer: producer.openKafkaProducer,
      openReader: reader.openKafkaReader,
      openGroup: group.openKafkaGroup,
      ensureTopic: topics.ensureTopic,
    };
  },
};

export interface ClickPathOptions {
  readonly settings: ClickSettings;
  readonly engines: ClickEngines;
  readonly head: ProducerHeadFile;
  readonly spill: SpillFolder;
  readonly enrich: (raw: RawBatch) => ClickBatch;
  /** The thread's own work, one piece after the other. */
  readonly work: SerialQueue;
  readonly onProblem: (what: string, error: unknown) => void;
  readonly onClicks: (batch: ClickBatch) => void;
  /** Called now and then during long work, so that new clicks can be taken in and stored. */
  readonly onPause: () => Promise<void>;
}

export interface ClickPath {
  readonly log: Pick<ClickLog, 'partitionsOf' | 'read'>;
  /** Where live viewers start in partitions that one producer writes. */
  livePositions(): Promise<ReadonlyMap<string, number>>;
  accept(raw: RawBatch): Promise<void>;
  /** Stores a bounded part of what waits for the log. */
  store(): Promise<void>;
  /** Counts a bounded part of what is in the log, where that is this thread's work. */
  count(): Promise<void>;
  /** The time of the oldest click that waits for the log; undefined when none does. */
  waitingSince(): number | undefined;
  counts(): PipelineCounts;
  /** The state of the warehouse, if it is a file of this machine. */
  warehouseState(): Promise<WarehouseState | undefined>;
  forget(code: string, at: number): Promise<void>;
  recountAll(): Promise<void>;
  /** Stores what it can; the rest is left to the next process. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Counting a little later puts more clicks into one run, and runs are merged less often. So the longer a round takes,
 * the longer the pause, and a round with many clicks waits for more. Clicks are shown a few seconds late at most.
 */
const countPauseFactor = 9;
const countPauseMaxMs = 3_000;
const manyClicks = 1_000;
const manyPauseMs = 2_000;
const retentionMs = 60_000;
/** How often to check whether runs can be merged; while they can, every round merges. */
const upkeepMs = 2_000;
const announceMs = 5_000;

/** Kafka's client is loaded only where it is used. */
export function openClickPath(options: ClickPathOptions): Promise<ClickPath> {
  return options.settings.stream === 'embedded' ? openEmbeddedPath(options) : openKafkaPath(options);
}

async function openEmbeddedPath(options: ClickPathOptions): Promise<ClickPath> {
  const { settings, engines, spill, work, onProblem, onClicks, onPause, enrich } = options;
  const { clock } = engines;
  const { logFolder, producer, spillFolder } = settings;
  const log = createEmbeddedLog({ folder: logFolder, producer, clock });
  const backlog = new ClickBacklog({ producer, spill, clock, onProblem });
  const writer = new BacklogWriter({ stream: log, backlog, clock, onProblem });
  const warehouse = engines.openWarehouse(settings);
  const pipeline = new ClickPipeline({
    producer,
    log,
    writer,
    warehouse,
    enrich,
    clock,
    onProblem,
    onClicks,
    onPause,
  });
  let countAgainAtMs = 0;
  let upkeepAtMs = 0;
  let endDaysAtMs = clock.monotonicMs() + retentionMs;
  /** Maintains the warehouse when there is nothing to count. */
  const upkeep = async (): Promise<void> => {
    const nowMs = clock.monotonicMs();
    if (nowMs < upkeepAtMs) return;
    upkeepAtMs = nowMs + upkeepMs;
    const endsDays = nowMs >= endDaysAtMs;
    const maintain = pipeline.maintain.bind(pipeline);
    if (await maintainWarehouse({ ...settings, endsDays, clock, maintain })) upkeepAtMs = 0;
    else if (endsDays) endDaysAtMs = nowMs + retentionMs;
  };
  /** A dead producer whose clicks are still spilled is not finished, so it must not be forgotten. */
  const living = async (): Promise<Set<string>> =>
    (await livingProducers(log)).union(spilledProducers(spillFolder));
  const stopRetention = work.every(clock, retentionMs, 'old clicks cannot be removed', () =>
    applyRetention({
      ...settings,
      clock,
      living,
      positions: () => pipeline.positions(),
      retire: partitions => pipeline.retire(partitions),
    }),
  );
  return {
    log,
    livePositions: () => pipeline.positions(),
    accept: raw => pipeline.accept(raw),
    store: () => pipeline.store(),
    async count() {
      const startedMs = clock.monotonicMs();
      if (startedMs < countAgainAtMs) return;
      const { counted } = pipeline.counts;
      const isBehind = await pipeline.count();
      const endedMs = clock.monotonicMs();
      const wereMany = pipeline.counts.counted - counted >= manyClicks;
      const pauseMs = Math.max(
        wereMany ? manyPauseMs : 0,
        Math.min(countPauseMaxMs, (endedMs - startedMs) * countPauseFactor),
      );
      // A thread with a whole log to count does not pause until it is done.
      countAgainAtMs = isBehind ? 0 : endedMs + pauseMs;
      if (!isBehind) await upkeep();
    },
    waitingSince: () => writer.waitingSince,
    counts: () => pipeline.counts,
    warehouseState: () => pipeline.warehouseState(),
    forget: (code, at) => work.do(() => pipeline.forget(code, at)),
    recountAll: () => work.do(() => pipeline.recountAll()),
    async finish() {
      stopRetention();
      await pipeline.close();
    },
    async close() {},
  };
}

async function openKafkaPath(options: ClickPathOptions): Promise<ClickPath> {
  const { settings, engines, head, spill, work, onProblem, onClicks, onPause, enrich } = options;
  const { clock } = engines;
  const { logFolder, producer, spillFolder } = settings;
  const { keepMakingTopics, mapKafkaError, openClickKafka, recountKafka } = await import('./open-kafka.ts');
  const { openProducer, openReader, ensureTopic } = await engines.kafka();
  const { createKafkaWriter } = await import('./logs/kafka.ts');
  const { announceHeads } = await import('./logs/kafka-heads.ts');
  const kafka = openClickKafka(settings, { clock, openReader });
  const { address, topic, log } = kafka;
  const stopMakingTopics = keepMakingTopics(kafka, settings, onProblem, { clock, ensureTopic });
  const numbers = new PartitionNumbers(head.numbers(address.partitions));
  const sink = createKafkaWriter({ kafka: openProducer(address, { clock }), topic, producer });
  const writer = new BacklogWriter({
    stream: { append: sink.append, producers: async () => readHeads(logFolder, clock) },
    backlog: new ClickBacklog({ producer, spill, clock, onProblem }),
    clock,
    onProblem,
  });
  const warehouse = engines.openWarehouse(settings);
  const countsAreOurs = countsInSqlite(settings);
  /** Queued with other work only if this thread counts: clicks must not wait for another machine's warehouse. */
  const withCounts = (task: () => Promise<void>): Promise<void> => (countsAreOurs ? work.do(task) : task());

  // A separate producer: the one for clicks is abandoned with all pending messages when it fails.
  const announcer = openProducer(address, { clock });
  /** Whether Kafka accepted the last announcement, also while there are no clicks. */
  let hasAnnounced = true;
  /** Announces how far we have numbered, and how far dead producers on this machine had. */
  const announce = async (): Promise<void> => {
    const dead = readHeads(logFolder, clock).filter(each => each.producer !== producer && !each.alive);
    const spilled = spilledProducers(spillFolder);
    try {
      await announceHeads(announcer, topic, [{ producer, ...head.read(), alive: true }, ...dead]);
      hasAnnounced = true;
    } catch (error) {
      hasAnnounced = false;
      throw error;
    }
    for (const { producer: name } of dead)
      if (!spilled.has(name)) files.rmSync(headPath(logFolder, name), { force: true });
  };
  const announcing = new SerialQueue(onProblem);
  const stopAnnouncing = announcing.every(
    clock,
    announceMs,
    'the newest number of clicks cannot be announced',
    announce,
  );
  return {
    log,
    livePositions: async () => new Map(),
    async accept(raw) {
      const batch = numbers.number(enrich(raw));
      await writer.write(batch);
      onClicks(batch);
    },
    async store() {
      await writer.round();
    },
    async count() {},
    waitingSince: () => writer.waitingSince,
    counts: () => ({
      ...writer.counts,
      isStreamDown: writer.counts.isStreamDown || !hasAnnounced,
      counted: 0,
      duplicates: 0,
      lagMs: 0,
    }),
    warehouseState: async () => (countsAreOurs ? warehouse.get().state?.() : undefined),
    forget: (code, at) =>
      withCounts(async () => {
        // First recorded where it cannot be lost with the counts.
        if (countsAreOurs) markForgotten(logFolder, code, at);
        await warehouse.get().forget(code, at);
      }),
    recountAll: () =>
      withCounts(() =>
        mapKafkaError(() => recountKafka(warehouse.get(), log, countsAreOurs ? onPause : undefined)),
      ),
    async finish() {
      stopMakingTopics();
      await writer.finish();
    },
    async close() {
      stopAnnouncing();
      await announcing.inBackground('the last number of clicks cannot be announced', announce);
      warehouse.close();
      await Promise.all([sink.close(), announcer.close(), log.close()]);
    },
  };
}
