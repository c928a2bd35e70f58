/** Answers about clicks that are counted in ClickHouse; who has noted how much of them, the stream tells. */
import type { ClickReports } from '../clicks/reports.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { createClickHouseReports } from '../clicks/warehouses/clickhouse/reports.ts';
import { openStatsSources, type StatsSources } from './stats-sources.ts';
import { openClickHouseWarehouse } from './warehouse-access.ts';

export function openClickHouseReports(
  settings: ClickSettings,
): Pick<ClickReports, 'stats' | 'totals' | 'ranking' | 'exportPart' | 'reconcile'> {
  const warehouse = openClickHouseWarehouse(settings);
  let opening: Promise<StatsSources> | undefined;
  return createClickHouseReports({
    warehouse,
    async heads() {
      // Only whoever reconciles needs Kafka.
      opening ??= openStatsSources(settings, () => warehouse);
      return (await opening).heads();
    },
  });
}
