/**
 * What can be asked about clicks that are counted in ClickHouse: the same as elsewhere, but single clicks are there too,
 * and of the ledger, which is all machines', only as much is read as the answer needs.
 */
import { reconcile } from '../../reconcile.ts';
import type { ClickReports } from '../../reports.ts';
import { readStats } from '../../stats.ts';
import type { ProducerHead } from '../../stream.ts';
import type { LedgerRow } from '../../warehouse.ts';
import type { ClickHouseWarehouse } from './warehouse.ts';

export interface ClickHouseReportSources {
  readonly warehouse: ClickHouseWarehouse;
  /** Producers and how far they have numbered their clicks, as the stream knows it. */
  heads(): Promise<ProducerHead[]>;
}

export function createClickHouseReports({
  warehouse,
  heads,
}: ClickHouseReportSources): Pick<ClickReports, 'stats' | 'totals' | 'ranking' | 'exportPart' | 'reconcile'> {
  return {
    stats: query => readStats(warehouse, query),
    totals: codes => warehouse.totals(codes.map(code => ({ kind: 'link', code }))),
    ranking: question => warehouse.ranking(question),
    exportPart: (filter, cursor) => warehouse.exportPart(filter, cursor),
    async reconcile(from, to) {
      const known = await heads();
      const producers = known.map(({ producer }) => producer);
      const [counted, inRange, ofProducers] = await Promise.all([
        warehouse.producers(),
        warehouse.ledger(from - hourMs, to),
        warehouse.ledgerOf(producers),
      ]);
      return reconcile({ heads: known, counted, ledger: distinct([...inRange, ...ofProducers]), from, to });
    },
  };
}

const hourMs = 60 * 60_000;

/** Rows of the asked hours, and all rows of the asked producers: some are both. */
function distinct(rows: readonly LedgerRow[]): LedgerRow[] {
  return [...new Map(rows.map(row => [`${row.hour} ${row.producer}`, row])).values()];
}
