/** The warehouse that the settings name, for whichever thread needs it. */
import { systemClock } from '../base/clock.ts';
import type { WarehouseAccess } from '../clicks/pipeline.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import {
  type ClickHouseWarehouse,
  createClickHouseWarehouse,
} from '../clicks/warehouses/clickhouse/warehouse.ts';
import { parseAddress } from '../engines/clickhouse/address.ts';
import { ClickHouse } from '../engines/clickhouse/clickhouse.ts';
import { WarehouseHandle } from './warehouse-handle.ts';

/** Then the counts are this machine's own; otherwise all machines share them. */
export const countsInSqlite = ({ stats }: Pick<ClickSettings, 'stats'>): boolean => stats === 'sqlite';

export function openWarehouseAccess(
  settings: Pick<ClickSettings, 'stats' | 'rawDays' | 'warehousePath'>,
): WarehouseAccess {
  if (countsInSqlite(settings)) return new WarehouseHandle(settings.warehousePath);
  const warehouse = openClickHouseWarehouse(settings);
  // There is no file that could be replaced and no connection that could be lost.
  return { isCurrent: true, get: () => warehouse, close: () => {} };
}

/** Nothing is asked of ClickHouse before the first question. */
export function openClickHouseWarehouse({
  stats,
  rawDays,
}: Pick<ClickSettings, 'stats' | 'rawDays'>): ClickHouseWarehouse {
  const clickHouse = new ClickHouse({ address: parseAddress(stats), clock: systemClock });
  return createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: rawDays });
}
