/**
 * The entry point of the thread that compares the counts of hours and recounts days. Either may read a day of clicks,
 * and must delay neither requests for statistics nor counting.
 */

import { Problem } from '../base/errors.ts';
import { answerCalls, giveWay } from '../base/thread-call.ts';
import { compareHours, type HourComparison } from './compare-hours.ts';
import { openLogSources } from './open-log.ts';
import { openWarehouseAccess } from './open-warehouse.ts';
import { SpanReplay, wholeDays } from './replay.ts';
import type { LogSources } from './reports.ts';
import type { ClickSettings } from './settings.ts';

declare const self: Worker;

const dayMs = 24 * 60 * 60_000;

giveWay();

function start(settings: ClickSettings) {
  // A recount reads what it is about to change, so it has its own access to the counts.
  const [asked, recounted] = [openWarehouseAccess(settings), openWarehouseAccess(settings)];
  let opening: Promise<LogSources> | undefined;
  const sources = (): Promise<LogSources> => {
    opening ??= openLogSources(settings, () => asked.get());
    return opening;
  };
  let last: Promise<unknown> = Promise.resolve();
  /** Runs calls one after the other. */
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work);
    last = done.catch(() => undefined);
    return done;
  };

  async function recountDays(from: number, to: number): Promise<number> {
    const { log, pause } = await sources();
    const replay = new SpanReplay(log, wholeDays({ from, to }));
    const warehouse = recounted.get();
    if (!(await replay.isKept(await warehouse.positions(), await warehouse.earliest())))
      throw new Problem('clicks_not_kept');
    await warehouse.recountDays(replay, pause);
    return replay.clicksIn({ from, to });
  }

  /** Days that an earlier version counted, the newest first, as far back as the log has them. */
  async function recountLegacy(): Promise<LegacyProgress> {
    const until = (await recounted.get().state?.())?.legacyUntil ?? 0;
    if (until === 0) return { until, isOver: true };
    try {
      await recountDays(until - dayMs, until);
    } catch (error) {
      if (error instanceof Problem && error.code === 'clicks_not_kept') return { until, isOver: true };
      throw error;
    }
    return { until, isOver: false };
  }

  return {
    async compare(from: number, to: number, countsStream: boolean): Promise<HourComparison[]> {
      const { log, heads, settledUntil, hasTimes } = await sources();
      const warehouse = asked.get();
      return compareHours({ warehouse, heads, settledUntil, log, hasTimes }, { from, to, countsStream });
    },
    recountDays: (from: number, to: number): Promise<number> => inTurn(() => recountDays(from, to)),
    recountLegacy: (): Promise<LegacyProgress> => inTurn(recountLegacy),
  };
}

export interface LegacyProgress {
  /** The end of the recounted day, or of the last day that cannot be recounted. */
  readonly until: number;
  readonly isOver: boolean;
}

export type ReconcileThreadFunctions = ReturnType<typeof start>;

answerCalls(self, start);
