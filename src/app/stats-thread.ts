/**
 * The entry point of the thread that answers questions about clicks. Reading a year of a busy link takes
 * milliseconds of a processor; here they are nobody's but the asker's.
 */

import { answerCall } from '../base/thread-call.ts';
import { type Reconciliation, reconcile } from '../clicks/reconcile.ts';
import type { ClickReports, ExportCursor, ExportFilter, ExportPart } from '../clicks/reports.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { readStats, type Stats, type StatsQuery } from '../clicks/stats.ts';
import type { RankedLink, RankingQuestion, ScopeTotal } from '../clicks/warehouse.ts';
import { giveWay } from './background-thread.ts';
import { openClickHouseReports } from './clickhouse-reports.ts';
import { openStatsSources, type StatsSources } from './stats-sources.ts';
import { countsInSqlite, openWarehouseAccess } from './warehouse-access.ts';

declare const self: Worker;

giveWay();

function start(
  settings: ClickSettings,
): Pick<ClickReports, 'stats' | 'totals' | 'ranking' | 'reconcile' | 'exportPart'> {
  return countsInSqlite(settings) ? openSqliteReports(settings) : openClickHouseReports(settings);
}

function openSqliteReports(settings: ClickSettings) {
  const handle = openWarehouseAccess(settings);
  let opening: Promise<StatsSources> | undefined;
  const sources = (): Promise<StatsSources> => {
    opening ??= openStatsSources(settings, () => handle.get());
    return opening;
  };

  return {
    stats: (query: StatsQuery): Promise<Stats> => readStats(handle.get(), query),
    totals: (codes: readonly string[]): Promise<ScopeTotal[]> =>
      Promise.all(codes.map(code => handle.get().total({ kind: 'link', code }))),
    ranking: (question: RankingQuestion): Promise<RankedLink[]> => handle.get().ranking(question),
    reconcile: async (from: number, to: number): Promise<Reconciliation> =>
      reconcile({
        heads: await (await sources()).heads(),
        counted: await handle.get().producers(),
        ledger: await handle.get().ledger(0, Number.MAX_SAFE_INTEGER),
        from,
        to,
      }),
    exportPart: async (filter: ExportFilter, cursor: ExportCursor | undefined): Promise<ExportPart> =>
      (await sources()).exportPart(filter, cursor, await handle.get().forgottenBefore(filter.code)),
  };
}

export type StatsThreadFunctions = ReturnType<typeof start>;

self.onmessage = ({ data: settings }: MessageEvent<ClickSettings>) => {
  const functions = start(settings);
  self.onmessage = ({ data }: MessageEvent<unknown>) => {
    answerCall(data, functions, self);
  };
};
