/** Answers about clicks, from the counts and, where single clicks and producers are concerned, from the log. */
import { exportCoverage, exportPart } from './export.ts';
import type { ClickLog, ProducerHead } from './log.ts';
import { reconcile } from './reconcile.ts';
import { hourMs } from './replay.ts';
import { type ClickReports, type CountedLink, readBreakdown, readStats } from './stats.ts';
import type { CountingPause, Scope, Warehouse } from './warehouse.ts';

/** The parts of a log that reports and recounts need. */
export interface LogSources {
  readonly log: ClickLog;
  /** The producers with their newest click numbers. */
  heads(): Promise<ProducerHead[]>;
  /** Every click before this time is counted or lost; asked after `heads` and before the counts (settling.ts). */
  settledUntil(heads: readonly ProducerHead[]): Promise<number>;
  /** Whether offsets by time are exact, so that messages can be assigned to hours. */
  readonly hasTimes: boolean;
  readonly pause: CountingPause;
  /** The client gets the same problem whether the log or the warehouse is down. */
  ask<Answer>(ask: () => Promise<Answer>): Promise<Answer>;
}

export type WarehouseReports = Pick<
  ClickReports,
  'stats' | 'breakdown' | 'recent' | 'totals' | 'clicksBy' | 'ranking' | 'exportPart' | 'reconcile'
>;

/** The log is opened with the first question that needs it. */
export function createReports(
  warehouse: () => Warehouse,
  open: () => Promise<Pick<LogSources, 'log' | 'heads' | 'settledUntil' | 'ask'>>,
): WarehouseReports {
  let opening: ReturnType<typeof open> | undefined;
  const sources = (): ReturnType<typeof open> => {
    opening ??= open();
    return opening;
  };
  return {
    stats: query => readStats(warehouse(), query),
    breakdown: query => readBreakdown(warehouse(), query),
    recent: question => warehouse().recent(question),
    totals: links => warehouse().totals(links.map(scopeOfLink)),
    clicksBy: (links, starts, to) => warehouse().clicksBy({ scopes: links.map(scopeOfLink), starts, to }),
    ranking: question => warehouse().ranking(question),
    async exportPart(filter, cursor) {
      const own = warehouse().exportPart?.(filter, cursor);
      if (own !== undefined) return own;
      const forgottenBefore = await warehouse().forgottenBefore(filter.code);
      const { ask, log } = await sources();
      const part = await ask(() => exportPart(log, filter, cursor, forgottenBefore));
      if (cursor !== undefined) return part;
      return { ...part, coveredFrom: await ask(() => exportCoverage(log, warehouse(), filter)) };
    },
    async reconcile(from, to) {
      const known = await sources();
      const heads = await known.heads();
      const settledUntil = await known.settledUntil(heads);
      const counted = await warehouse().producers();
      const ledger = await warehouse().ledgerOf(
        heads.map(({ producer }) => producer),
        { from: from - hourMs, to },
      );
      const countedAfter = await warehouse().producers();
      return reconcile({ heads, settledUntil, counted, countedAfter, ledger, from, to });
    },
  };
}

const scopeOfLink = ({ code, ownerId }: CountedLink): Scope => ({ kind: 'link', code, ownerId });
