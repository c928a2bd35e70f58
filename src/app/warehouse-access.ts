/** The warehouse that the settings name, for whichever thread needs it. */
import type { WarehouseAccess } from '../clicks/pipeline.ts';
import type { ClickSettings } from '../clicks/settings.ts';
import { WarehouseHandle } from './warehouse-handle.ts';

export function openWarehouseAccess({ warehousePath }: ClickSettings): WarehouseAccess {
  return new WarehouseHandle(warehousePath);
}
