/**
 * The entry point of the thread that takes clicks off the redirect's hands where they go to Kafka: it enriches and
 * numbers them and writes them there, or to disk while that is away. Counting is done elsewhere (consumer-thread.ts).
 * Everything it does is bounded per round, and nothing waits for it.
 */
import { rmSync } from 'node:fs';
import { letOthersRun, systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import { ClickBacklog } from '../clicks/backlog.ts';
import { LiveFeed } from '../clicks/live.ts';
import { PartitionNumbers } from '../clicks/partition-numbers.ts';
import { headPath, ProducerHeadFile, readHeads } from '../clicks/producer-heads.ts';
import type { RawBatch } from '../clicks/raw-batch.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { SpillFolder, spilledProducers } from '../clicks/spill-folder.ts';
import { StreamWriter } from '../clicks/stream-writer.ts';
import { markForgotten } from '../clicks/streams/embedded/forgotten.ts';
import { announceHeads } from '../clicks/streams/kafka/heads.ts';
import { createKafkaLiveSource } from '../clicks/streams/kafka/live-source.ts';
import { rebuildFromKafka } from '../clicks/streams/kafka/rebuild.ts';
import { createKafkaSink } from '../clicks/streams/kafka/sink.ts';
import { openKafkaProducer } from '../engines/kafka/producer.ts';
import { giveWay } from './background-thread.ts';
import { createClickEnricher } from './click-enricher.ts';
import type { ClickThreadCounts, ClickThreadFunctions, ClickThreadMessage } from './click-thread.ts';
import { keepMakingTopics, openClickKafka } from './kafka-clicks.ts';
import { told } from './kafka-told.ts';
import { countsInSqlite, openWarehouseAccess } from './warehouse-access.ts';
import { WorkInTurn } from './work-in-turn.ts';

declare const self: Worker;

giveWay();

const roundMs = 400;
const announceMs = 5_000;

function start(settings: ClickSettings) {
  const { logFolder, producer, spillFolder } = settings;
  const clock = systemClock;
  const tell = (message: ClickThreadMessage): void => self.postMessage(message);
  const complain = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });
  const shared = { clock, onProblem: complain };

  const kafka = openClickKafka(settings);
  const { address, topic, source } = kafka;
  const stopMakingTopics = keepMakingTopics(kafka, settings, complain);
  const head = new ProducerHeadFile(headPath(logFolder, producer));
  const numbers = new PartitionNumbers(head.numbers(address.partitions));
  const sink = createKafkaSink({ kafka: openKafkaProducer(address, { clock }), topic, producer });
  const spill = new SpillFolder({
    ...shared,
    folder: spillFolder,
    producer,
    bytesMax: settings.spillBytesMax,
  });
  const writer = new StreamWriter({
    ...shared,
    stream: { append: sink.append, producers: async () => readHeads(logFolder, clock) },
    backlog: new ClickBacklog({ ...shared, producer, spill }),
  });
  const liveSource = createKafkaLiveSource(source, address);
  const live = new LiveFeed({ stream: liveSource, producer, positions: () => source.ends() });
  const enricher = createClickEnricher(settings, fault =>
    tell({ kind: 'problem', what: 'countries are unknown', detail: fault }),
  );
  const warehouse = openWarehouseAccess(settings);

  const work = new WorkInTurn(complain);
  const countsAreOurs = countsInSqlite(settings);
  /** In turn with the rest where it is this thread's own work; clicks must not wait for another machine's. */
  const withCounts = (task: () => Promise<void>): Promise<void> => (countsAreOurs ? work.do(task) : task());
  const incoming: RawBatch[] = [];
  const takeIncoming = async (): Promise<void> => {
    for (let raw = incoming.shift(); raw !== undefined; raw = incoming.shift()) {
      try {
        const batch = numbers.number(enricher.enrich(raw));
        await writer.write(batch);
        const update = live.pick(batch);
        if (update !== undefined) tell({ kind: 'live', update });
      } finally {
        tell({ kind: 'taken' });
      }
    }
  };
  const round = async (): Promise<void> => {
    await writer.round();
  };
  const tail = async (): Promise<void> => {
    for (const update of await live.tail()) tell({ kind: 'live', update });
  };

  // Not by the producer of clicks: one that fails is given up, with whatever it had begun.
  const announcer = openKafkaProducer(address, { clock });
  /** Whether Kafka took the last announcement, also while nobody clicks. */
  let hasAnnounced = true;
  /** Tells how far we have numbered, and for those on this machine who cannot any more, how far they had. */
  const announce = async (): Promise<void> => {
    const dead = readHeads(logFolder, clock).filter(each => each.producer !== producer && !each.alive);
    const spilled = spilledProducers(spillFolder);
    await announceHeads(announcer, topic, [{ producer, ...head.read(), alive: true }, ...dead]).then(
      () => (hasAnnounced = true),
      error => {
        hasAnnounced = false;
        throw error;
      },
    );
    for (const { producer: name } of dead) {
      if (!spilled.has(name)) rmSync(headPath(logFolder, name), { force: true });
    }
  };

  // Also while a round is waiting for a slow stream: whoever is silent is taken for dead.
  const stopBeats = clock.every(roundMs, () => head.beat(clock.now()));
  const stopRounds = work.every(clock, roundMs, 'a round of the click thread failed', round);
  // Beside the other work: a broker that hangs keeps each of them waiting, and clicks must not wait for those who watch.
  const tailing = new WorkInTurn(complain);
  const stopTailing = tailing.every(clock, roundMs, 'clicks of others cannot be watched', tail);
  const announcing = new WorkInTurn(complain);
  const stopAnnouncing = announcing.every(
    clock,
    announceMs,
    'the newest number of clicks cannot be announced',
    announce,
  );
  head.beat(clock.now());
  try {
    if (spill.isAllowed) spill.check();
  } catch (error) {
    // Better known now than when it is needed.
    complain('clicks could not be spilled to disk if they had to be', error);
  }

  const functions: ClickThreadFunctions = {
    counts: (): ClickThreadCounts => ({
      ...writer.counts,
      isStreamAway: writer.counts.isStreamAway || !hasAnnounced,
      counted: 0,
      duplicates: 0,
      lagMs: 0,
      steps: enricher.steps(),
      suspicious: enricher.suspicious(),
    }),
    watch(codes: readonly string[]): void {
      liveSource.watch(codes);
      live.watch(codes);
    },
    forget: (code: string, at: number): Promise<void> =>
      withCounts(async () => {
        // First where it cannot be lost with the counts.
        if (countsAreOurs) markForgotten(logFolder, code, at);
        await warehouse.get().forget(code, at);
      }),
    rebuild: (): Promise<void> =>
      withCounts(async () => {
        const onPause = async (): Promise<void> => {
          await letOthersRun();
          if (countsAreOurs) await takeIncoming();
        };
        await told(() => rebuildFromKafka(warehouse.get(), { ...kafka, clock }, onPause));
      }),
    async settle(): Promise<void> {
      await work.do(round);
      await tailing.do(tail);
    },
    async stop(): Promise<void> {
      stopRounds();
      stopTailing();
      stopAnnouncing();
      stopMakingTopics();
      await work.do(() => writer.finish());
      await announcing.inBackground('the last number of clicks cannot be announced', announce);
      stopBeats();
      // Whoever lives may take over what is left at once.
      head.beat(0);
      warehouse.close();
      await Promise.all([sink.close(), announcer.close(), source.close()]);
    },
  };

  return {
    take(raw: RawBatch): void {
      incoming.push(raw);
      void work.inBackground('clicks cannot be taken in', takeIncoming);
    },
    functions,
  };
}

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const thread = start(settings);
  self.onmessage = ({ data }: MessageEvent<RawBatch>) => {
    if (!answerCall(data, thread.functions, self)) thread.take(data);
  };
};
