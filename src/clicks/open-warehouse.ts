/** The warehouse that the settings name, for whichever thread needs it. */
import { systemClock } from '../base/clock.ts';
import { parseAddress } from '../engines/clickhouse/address.ts';
import { ClickHouse } from '../engines/clickhouse/clickhouse.ts';
import type { WarehouseAccess } from './pipeline.ts';
import type { ClickSettings } from './settings.ts';
import { type ClickHouseWarehouse, createClickHouseWarehouse } from './warehouses/clickhouse/warehouse.ts';
import { WarehouseHandle } from './warehouses/sqlite/file.ts';

/** Whether this machine has its own counts; otherwise all machines share them. */
export const countsInSqlite = ({ stats }: Pick<ClickSettings, 'stats'>): boolean => stats === 'sqlite';

export function openWarehouseAccess(
  settings: Pick<ClickSettings, 'stats' | 'rawDays' | 'warehousePath'>,
): WarehouseAccess {
  if (countsInSqlite(settings)) return new WarehouseHandle(settings.warehousePath);
  const warehouse = openClickHouseWarehouse(settings);
  // There is no file that could be replaced, and no connection to close.
  return { isCurrent: true, get: () => warehouse, close: () => {} };
}

/** ClickHouse is not contacted before the first query. */
export function openClickHouseWarehouse({
  stats,
  rawDays,
}: Pick<ClickSettings, 'stats' | 'rawDays'>): ClickHouseWarehouse {
  const clickHouse = new ClickHouse({ address: parseAddress(stats), clock: systemClock });
  return createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: rawDays });
}
