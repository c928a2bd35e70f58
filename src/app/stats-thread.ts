/**
 * The entry point of the thread that answers questions about clicks. Reading a year of a busy link takes
 * milliseconds of a processor; here they are nobody's but the asker's.
 */

import { systemClock } from '../base/clock.ts';
import { answerCall } from '../base/thread-call.ts';
import { type Reconciliation, reconcile } from '../clicks/reconcile.ts';
import type { ExportCursor, ExportFilter, ExportPart } from '../clicks/reports.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { spilledProducers } from '../clicks/spill-folder.ts';
import { readStats, type Stats, type StatsQuery } from '../clicks/stats.ts';
import type { ProducerHead } from '../clicks/stream.ts';
import { exportPart } from '../clicks/streams/embedded/export.ts';
import { createEmbeddedStream } from '../clicks/streams/embedded/stream.ts';
import type { ScopeTotal } from '../clicks/warehouse.ts';
import { WarehouseHandle } from './warehouse-handle.ts';

declare const self: Worker;

function start({ logFolder, producer, warehousePath, spillFolder }: ClickSettings) {
  const stream = createEmbeddedStream({ folder: logFolder, producer, clock: systemClock });

  const handle = new WarehouseHandle(warehousePath);

  /** As long as clicks of a dead producer are spilled, they are on their way and not missing. */
  const heads = async (): Promise<ProducerHead[]> => {
    const spilled = spilledProducers(spillFolder);
    return (await stream.producers()).map(head => ({
      ...head,
      alive: head.alive || spilled.has(head.producer),
    }));
  };

  return {
    stats: (query: StatsQuery): Promise<Stats> => readStats(handle.get(), query),
    totals: (codes: readonly string[]): Promise<ScopeTotal[]> =>
      Promise.all(codes.map(code => handle.get().total({ kind: 'link', code }))),
    reconcile: async (from: number, to: number): Promise<Reconciliation> =>
      reconcile({
        heads: await heads(),
        counted: await handle.get().producers(),
        ledger: await handle.get().ledger(0, Number.MAX_SAFE_INTEGER),
        from,
        to,
      }),
    exportPart: async (filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart> =>
      exportPart(logFolder, filter, cursor, await handle.get().forgottenBefore(filter.code)),
  };
}

export type StatsThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
