/**
 * The entry point of the thread that takes clicks from the redirects: it enriches them and writes the log; where the log
 * is embedded it also counts. All its work is bounded per round, and nothing waits for it.
 */

import { yieldToEventLoop } from '../base/clock.ts';
import { SerialQueue } from '../base/serial-queue.ts';
import { answerCall, giveWay } from '../base/thread-call.ts';
import { LiveFeed, type LiveUpdate } from './live.ts';
import { headPath, ProducerHeadFile } from './log-folder.ts';
import { type ClickEngines, openClickPath, systemEngines } from './open-click-path.ts';
import { type ClickEnricher, createClickEnricher } from './open-enricher.ts';
import type { PipelineCounts } from './pipeline.ts';
import type { RawBatch } from './recorder.ts';
import type { ClickSettings } from './settings.ts';
import { StoredUntil } from './settling.ts';
import { SpillFolder } from './spill-folder.ts';
import type { WarehouseState } from './warehouse.ts';

declare const self: Worker;

export type ClickThreadMessage =
  | { readonly kind: 'taken' }
  | { readonly kind: 'live'; readonly update: LiveUpdate }
  | { readonly kind: 'problem'; readonly what: string; readonly detail: string };

export type ClickThreadCounts = PipelineCounts & {
  readonly warehouse: WarehouseState | undefined;
  readonly steps: ReturnType<ClickEnricher['steps']>;
  readonly suspicious: ReturnType<ClickEnricher['suspicious']>;
  readonly heapBytes: number;
};

const roundMs = 400;

export async function startClickThread(
  settings: ClickSettings,
  tell: (message: ClickThreadMessage) => void,
  engines: ClickEngines = systemEngines,
) {
  const { clock } = engines;
  const { logFolder, producer, spillFolder, spillBytesMax } = settings;
  const onProblem = (what: string, error: unknown): void =>
    tell({ kind: 'problem', what, detail: error instanceof Error ? error.message : String(error) });
  const head = new ProducerHeadFile(headPath(logFolder, producer));
  const enricher = createClickEnricher(settings, clock, fault => onProblem('countries are unknown', fault));
  const spill = new SpillFolder({ folder: spillFolder, producer, bytesMax: spillBytesMax, onProblem });
  const work = new SerialQueue(onProblem);
  const path = await openClickPath({
    settings,
    engines,
    head,
    spill,
    enrich: enricher.enrich,
    work,
    onProblem,
    onClicks(batch) {
      const update = live.pick(batch);
      if (update !== undefined) tell({ kind: 'live', update });
    },
    async onPause() {
      head.beat(clock.now());
      await yieldToEventLoop();
      await takeIncoming();
    },
  });
  const live = new LiveFeed({ log: path.log, producer, positions: path.livePositions });

  const storedUntil = new StoredUntil();
  const noteStored = (): void => {
    const now = clock.now();
    head.stored(storedUntil.until(head.read().sequence, now, path.waitingSince()));
  };
  const incoming: RawBatch[] = [];
  const takeIncoming = async (): Promise<void> => {
    for (let raw = incoming.shift(); raw !== undefined; raw = incoming.shift()) {
      try {
        await path.accept(raw);
        storedUntil.taken(raw);
      } finally {
        tell({ kind: 'taken' });
      }
    }
  };
  const round = async (): Promise<void> => {
    await path.store();
    noteStored();
    await path.count();
  };
  const tail = async (): Promise<void> => {
    for (const update of await live.tail()) tell({ kind: 'live', update });
  };

  // Also while a round waits for a slow log: a silent producer is presumed dead.
  const stopBeats = clock.every(roundMs, () => head.beat(clock.now()));
  const stopRounds = work.every(clock, roundMs, 'a round of the click thread failed', round);
  // Kafka beside the other work: a broker that hangs delays it, and clicks must not wait for live viewers.
  const tailing = settings.stream === 'embedded' ? work : new SerialQueue(onProblem);
  const stopTailing = tailing.every(clock, roundMs, 'clicks of others cannot be watched', tail);
  head.beat(clock.now());
  try {
    if (spill.isAllowed) spill.check();
  } catch (error) {
    // Better to find out now than when it is needed.
    onProblem('clicks could not be spilled to disk if they had to be', error);
  }

  return {
    take(raw: RawBatch): void {
      incoming.push(raw);
      void work.inBackground('clicks cannot be taken in', takeIncoming);
    },
    functions: {
      counts: async (): Promise<ClickThreadCounts> => ({
        ...path.counts(),
        warehouse: await path.warehouseState().catch(() => undefined),
        steps: enricher.steps(),
        suspicious: enricher.suspicious(),
        heapBytes: process.memoryUsage().heapUsed,
      }),
      watch: (codes: readonly string[]): void => live.watch(codes),
      forget: (code: string, at: number): Promise<void> => path.forget(code, at),
      recountAll: (): Promise<void> => path.recountAll(),
      /** Does now what the next round would do. */
      async settle(): Promise<void> {
        await work.do(round);
        await tailing.do(tail);
      },
      async stop(): Promise<void> {
        stopRounds();
        stopTailing();
        await work.do(() => path.finish());
        noteStored();
        await path.close();
        stopBeats();
        // A live process may take over the rest immediately.
        head.beat(0);
      },
    },
  };
}

export type ClickThreadFunctions = Awaited<ReturnType<typeof startClickThread>>['functions'];

if (!Bun.isMainThread) {
  giveWay();
  self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
    const starting = startClickThread(settings, message => self.postMessage(message));
    self.onmessage = async ({ data }: MessageEvent<RawBatch>) => {
      const thread = await starting;
      if (!answerCall(data, thread.functions, self)) thread.take(data);
    };
  };
}
