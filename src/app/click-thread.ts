/**
 * The entry point of the thread that takes clicks off the redirect's hands: it enriches them, writes the log and
 * counts. It also ends what is too old. Everything it does is bounded per round, and nothing waits for it.
 */
import { readFileSync } from 'node:fs';
import { createOwnHosts } from '../abuse/own-hosts.ts';
import { letOthersRun, systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import { ClickBacklog } from '../clicks/backlog.ts';
import { createBatchEnricher } from '../clicks/enrich.ts';
import { LiveFeed, type LiveUpdate } from '../clicks/live.ts';
import { ClickPipeline, type PipelineCounts } from '../clicks/pipeline.ts';
import type { RawBatch } from '../clicks/raw-batch.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { SpillFolder, spilledProducers } from '../clicks/spill-folder.ts';
import { createAgentDescriber } from '../clicks/steps/agent.ts';
import { createGeo } from '../clicks/steps/geo.ts';
import { createReferrerDescriber } from '../clicks/steps/referrer.ts';
import { createVisitorHasher } from '../clicks/steps/visitor.ts';
import { livingProducers } from '../clicks/stream.ts';
import { StreamWriter } from '../clicks/stream-writer.ts';
import { ProducerHeadFile } from '../clicks/streams/embedded/head.ts';
import { applyRetention } from '../clicks/streams/embedded/retention.ts';
import { createEmbeddedStream, headPath } from '../clicks/streams/embedded/stream.ts';
import { WarehouseHandle } from './warehouse-handle.ts';

declare const self: Worker;

export type ClickThreadMessage =
  | { readonly kind: 'taken' }
  | { readonly kind: 'live'; readonly update: LiveUpdate }
  | { readonly kind: 'problem'; readonly what: string; readonly detail: string };

/** Agents and referrers whose description is remembered. */
const describedMax = 20_000;
const roundMs = 400;
/**
 * Counting a moment later counts more clicks per row, so the longer it takes the longer it rests: it never has
 * more than a tenth of the thread, and clicks never show more than a few seconds late.
 */
const countPauseFactor = 9;
const countPauseMaxMs = 3_000;
const geoCheckDelayMs = 2_000;
const retentionMs = 60_000;

function start(settings: ClickSettings) {
  const { logFolder, producer, warehousePath, spillFolder } = settings;
  const tell = (message: ClickThreadMessage): void => self.postMessage(message);
  const complain = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });
  const stream = createEmbeddedStream({ folder: logFolder, producer, clock: systemClock });
  const head = new ProducerHeadFile(headPath(logFolder, producer));
  const live = new LiveFeed({ stream, producer, positions: () => pipeline.positions() });
  const geo = createGeo({ databasePath: settings.geoPath, readFile: path => readFileSync(path) });
  const enricher = createBatchEnricher({
    agents: createAgentDescriber({ entriesMax: describedMax }),
    referrers: createReferrerDescriber({
      entriesMax: describedMax,
      isOwnHost: createOwnHosts(settings.ownHosts).has,
    }),
    geo,
    visitors: createVisitorHasher({ secret: settings.secret }),
    clock: systemClock,
  });
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
    warehouse: new WarehouseHandle(warehousePath),
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

  /** One thing after the other: batches in the order they came, rounds between them. */
  let work: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(task: () => Promise<Result>): Promise<Result> => {
    const result = work.then(task);
    work = result.catch(() => undefined);
    return result;
  };
  /** For work that nobody waits for: its failure is reported here, and the next round tries again. */
  const inBackground = (what: string, task: () => Promise<void>): Promise<void> =>
    inTurn(task).catch(error => complain(what, error));

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
  let roundWaits = false;
  const stopRounds = systemClock.every(roundMs, () => {
    // Also while a round is waiting for a slow stream: whoever is silent is taken for dead.
    head.beat(systemClock.now());
    if (roundWaits) return;
    roundWaits = true;
    inBackground('a round of the click thread failed', round).finally(() => {
      roundWaits = false;
    });
  });
  /** A dead producer whose clicks are still spilled is not done with, and so not to be forgotten. */
  const living = async (): Promise<Set<string>> =>
    (await livingProducers(stream)).union(spilledProducers(spillFolder));
  const stopRetention = systemClock.every(retentionMs, () => {
    inBackground('old clicks cannot be removed', () =>
      applyRetention({
        ...settings,
        clock: systemClock,
        living,
        positions: () => pipeline.positions(),
        dropMinutes: (before, rowsMax) => pipeline.dropMinutes(before, rowsMax),
        retire: partitions => pipeline.retire(partitions),
      }),
    );
  });
  head.beat(systemClock.now());
  try {
    if (spill.isAllowed) spill.check();
  } catch (error) {
    // Better known now than when it is needed.
    complain('clicks could not be spilled to disk if they had to be', error);
  }
  // Not at once: reading the database would compete with the start of everything else.
  systemClock.after(geoCheckDelayMs, () => {
    const fault = geo.fault();
    if (fault !== undefined) tell({ kind: 'problem', what: 'countries are unknown', detail: fault });
  });

  return {
    take(raw: RawBatch): void {
      incoming.push(raw);
      inBackground('clicks cannot be taken in', takeIncoming);
    },
    functions: {
      counts: (): PipelineCounts & { steps: ReturnType<typeof enricher.steps> } => ({
        ...pipeline.counts,
        steps: enricher.steps(),
      }),
      watch: (codes: readonly string[]): void => live.watch(codes),
      forget: (code: string, at: number): Promise<void> => inTurn(() => pipeline.forget(code, at)),
      rebuild: (): Promise<void> => inTurn(() => pipeline.rebuild()),
      /** Counts now what would be counted within the next round. */
      settle: (): Promise<void> => inTurn(round),
      async stop(): Promise<void> {
        stopRounds();
        stopRetention();
        await inTurn(() => pipeline.close());
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
