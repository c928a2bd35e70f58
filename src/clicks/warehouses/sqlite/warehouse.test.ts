import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { warehouseConformance } from '../../warehouse.conformance.ts';
import { openSqliteWarehouse } from './warehouse.ts';

warehouseConformance('sqlite', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'terse-warehouse-'));
  const open = () => openSqliteWarehouse(join(folder, 'stats.db'));
  const warehouse = open();
  return {
    warehouse,
    reopen: open,
    async dispose() {
      await warehouse.close();
      rmSync(folder, { recursive: true });
    },
  };
});
