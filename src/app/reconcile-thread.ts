/**
 * The entry point of the thread that holds the numbers of hours against each other and counts hours anew. Either may read a
 * day of clicks, and neither those who ask for statistics nor those who count should wait for it.
 */
import { systemClock } from '../base/clock.ts';
import { Problem } from '../base/errors.ts';
import { answerCall } from '../base/thread-call.ts';
import { compareHours, type HourComparison } from '../clicks/compare-hours.ts';
import { alone, type CountingPause } from '../clicks/counting-pause.ts';
import { type ReplayableStream, SpanReplay } from '../clicks/replay.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { createEmbeddedReplay } from '../clicks/streams/embedded/replay.ts';
import { giveWay } from './background-thread.ts';
import { openStatsSources, type StatsSources } from './stats-sources.ts';
import { openWarehouseAccess } from './warehouse-access.ts';

declare const self: Worker;

giveWay();

/** The stream that is read again, and how counting is made to pause where that is needed. */
export interface ReplaySources {
  readonly stream: ReplayableStream;
  /** Whether the stream knows when each message was written. */
  readonly hasTimes: boolean;
  readonly pause: CountingPause;
}

/** Kafka's client is loaded only where it is used. */
async function openReplaySources(settings: ClickSettings): Promise<ReplaySources> {
  if (settings.stream === 'embedded')
    return { stream: createEmbeddedReplay(settings.logFolder), hasTimes: false, pause: alone };
  const { openKafkaReplaySources } = await import('./kafka-replay-sources.ts');
  return openKafkaReplaySources(settings);
}

function start(settings: ClickSettings) {
  // A repair reads what it is about to change, so it has a way to the counts of its own.
  const [asked, repaired] = [openWarehouseAccess(settings), openWarehouseAccess(settings)];
  let opening: Promise<[StatsSources, ReplaySources]> | undefined;
  const sources = (): Promise<[StatsSources, ReplaySources]> => {
    opening ??= Promise.all([openStatsSources(settings, () => asked.get()), openReplaySources(settings)]);
    return opening;
  };
  let last: Promise<unknown> = Promise.resolve();

  async function repair(from: number, to: number): Promise<number> {
    const [, { stream, pause }] = await sources();
    const replay = new SpanReplay(stream, { from, to });
    const warehouse = repaired.get();
    if (!(await replay.isKept(await warehouse.positions()))) throw new Problem('clicks_not_kept');
    return warehouse.repair(replay, pause);
  }

  return {
    async compare(from: number, to: number, countsStream: boolean): Promise<HourComparison[]> {
      const [{ heads }, { stream, hasTimes }] = await sources();
      const warehouse = asked.get();
      const now = systemClock.now();
      return compareHours({ warehouse, heads, stream, hasTimes, now }, { from, to, countsStream });
    },
    /** One after the other. */
    repair(from: number, to: number): Promise<number> {
      const done = last.then(() => repair(from, to));
      last = done.catch(() => undefined);
      return done;
    },
  };
}

export type ReconcileThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
