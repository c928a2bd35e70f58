/**
 * The entry point of the thread that takes clicks off the redirect's hands: it enriches them, writes the log and
 * counts. It also ends what is too old. Everything it does is bounded per round, and nothing waits for it.
 */
import { letOthersRun, systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import { ClickBacklog } from '../clicks/backlog.ts';
import { LiveFeed, type LiveUpdate } from '../clicks/live.ts';
import { ClickPipeline, type PipelineCounts } from '../clicks/pipeline.ts';
import { headPath, ProducerHeadFile } from '../clicks/producer-heads.ts';
import type { RawBatch } from '../clicks/raw-batch.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { SpillFolder, spilledProducers } from '../clicks/spill-folder.ts';
import { livingProducers } from '../clicks/stream.ts';
import { StreamWriter } from '../clicks/stream-writer.ts';
import { applyRetention } from '../clicks/streams/embedded/retention.ts';
import { createEmbeddedStream } from '../clicks/streams/embedded/stream.ts';
import { giveWay } from './background-thread.ts';
import { type ClickEnricher, createClickEnricher } from './click-enricher.ts';
import { openWarehouseAccess } from './warehouse-access.ts';
import { WorkInTurn } from './work-in-turn.ts';

declare const self: Worker;

giveWay();

export type ClickThreadMessage =
  | { readonly kind: 'taken' }
  | { readonly kind: 'live'; readonly update: LiveUpdate }
  | { readonly kind: 'problem'; readonly what: string; readonly detail: string };

export type ClickThreadCounts = PipelineCounts & {
  readonly steps: ReturnType<ClickEnricher['steps']>;
  readonly suspicious: ReturnType<ClickEnricher['suspicious']>;
};

const roundMs = 400;
/**
 * Counting a moment later counts more clicks per row, so the longer it takes the longer it rests: it never has
 * more than a tenth of the thread, and clicks never show more than a few seconds late.
 */
const countPauseFactor = 9;
const countPauseMaxMs = 3_000;
const retentionMs = 60_000;

function start(settings: ClickSettings) {
  const { logFolder, producer, spillFolder } = settings;
  const tell = (message: ClickThreadMessage): void => self.postMessage(message);
  const complain = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });
  const stream = createEmbeddedStream({ folder: logFolder, producer, clock: systemClock });
  const head = new ProducerHeadFile(headPath(logFolder, producer));
  const live = new LiveFeed({ stream, producer, positions: () => pipeline.positions() });
  const enricher = createClickEnricher(settings, fault =>
    tell({ kind: 'problem', what: 'countries are unknown', detail: fault }),
  );
  const shared = { clock: systemClock, onProblem: complain };
  const spill = new SpillFolder({
    ...shared,
    folder: spillFolder,
    producer,
    bytesMax: settings.spillBytesMax,
  });
  const pipeline = new ClickPipeline({
    producer,
    stream,
    writer: new StreamWriter({
      ...shared,
      stream,
      backlog: new ClickBacklog({ ...shared, producer, spill }),
    }),
    warehouse: openWarehouseAccess(settings),
    enrich: enricher.enrich,
    ...shared,
    onClicks(batch) {
      const update = live.pick(batch);
      if (update !== undefined) tell({ kind: 'live', update });
    },
    async onPause() {
      head.beat(systemClock.now());
      await letOthersRun();
      await takeIncoming();
    },
  });

  const work = new WorkInTurn(complain);
  const incoming: RawBatch[] = [];
  const takeIncoming = async (): Promise<void> => {
    for (let raw = incoming.shift(); raw !== undefined; raw = incoming.shift()) {
      try {
        await pipeline.accept(raw);
      } finally {
        tell({ kind: 'taken' });
      }
    }
  };

  let countAgainAtMs = 0;
  const round = async (): Promise<void> => {
    await pipeline.store();
    const startedMs = systemClock.monotonicMs();
    if (startedMs >= countAgainAtMs) {
      const isBehind = await pipeline.count();
      const endedMs = systemClock.monotonicMs();
      const pauseMs = Math.min(countPauseMaxMs, (endedMs - startedMs) * countPauseFactor);
      // Whoever has a whole log to count does not rest until it is done.
      countAgainAtMs = isBehind ? 0 : endedMs + pauseMs;
    }
    for (const update of await live.tail()) tell({ kind: 'live', update });
  };
  // Also while a round is waiting for a slow stream: whoever is silent is taken for dead.
  const stopBeats = systemClock.every(roundMs, () => head.beat(systemClock.now()));
  const stopRounds = work.every(systemClock, roundMs, 'a round of the click thread failed', round);
  /** A dead producer whose clicks are still spilled is not done with, and so not to be forgotten. */
  const living = async (): Promise<Set<string>> =>
    (await livingProducers(stream)).union(spilledProducers(spillFolder));
  const stopRetention = work.every(systemClock, retentionMs, 'old clicks cannot be removed', () =>
    applyRetention({
      ...settings,
      clock: systemClock,
      living,
      positions: () => pipeline.positions(),
      dropMinutes: (before, rowsMax) => pipeline.dropMinutes(before, rowsMax),
      retire: partitions => pipeline.retire(partitions),
    }),
  );
  head.beat(systemClock.now());
  try {
    if (spill.isAllowed) spill.check();
  } catch (error) {
    // Better known now than when it is needed.
    complain('clicks could not be spilled to disk if they had to be', error);
  }
  return {
    take(raw: RawBatch): void {
      incoming.push(raw);
      void work.inBackground('clicks cannot be taken in', takeIncoming);
    },
    functions: {
      counts: (): ClickThreadCounts => ({
        ...pipeline.counts,
        steps: enricher.steps(),
        suspicious: enricher.suspicious(),
      }),
      watch: (codes: readonly string[]): void => live.watch(codes),
      forget: (code: string, at: number): Promise<void> => work.do(() => pipeline.forget(code, at)),
      rebuild: (): Promise<void> => work.do(() => pipeline.rebuild()),
      /** Counts now what would be counted within the next round. */
      settle: (): Promise<void> => work.do(round),
      async stop(): Promise<void> {
        stopBeats();
        stopRounds();
        stopRetention();
        await work.do(() => pipeline.close());
        // Whoever lives may count what is left at once.
        head.beat(0);
      },
    },
  };
}

export type ClickThreadFunctions = ReturnType<typeof start>['functions'];

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const thread = start(settings);
  self.onmessage = ({ data }: MessageEvent<RawBatch>) => {
    if (!answerCall(data, thread.functions, self)) thread.take(data);
  };
};
