import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../../../../test/kit/engines/describe-with-engine.ts';
import { systemClock } from '../../../base/clock.ts';
import { warehouseConformance } from '../../warehouse.conformance.ts';
import { createClickHouseWarehouse } from './warehouse.ts';

describeWithEngine('clickhouse', 'ClickHouse', () => {
  const open = async () => {
    const clickHouse = patientClickHouse((await sharedClickHouse()).freshDatabaseUrl());
    const reopen = () => createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: 20_000 });
    return {
      warehouse: reopen(),
      reopen,
      dispose: () => clickHouse.run(`DROP DATABASE ${clickHouse.database} SYNC`),
    };
  };
  warehouseConformance('clickhouse', open, { isPlanned: true });
});
