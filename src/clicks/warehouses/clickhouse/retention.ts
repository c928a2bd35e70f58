/** How long single clicks are kept: ClickHouse drops their days by itself, whoever runs and whoever does not. */
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { tableName } from './schema.ts';

export async function keepClicks(clickHouse: ClickHouse, generation: number, days: number): Promise<void> {
  const table = tableName('clicks', generation);
  const [row] = await clickHouse.rows<{ text: string }>(
    `SELECT engine_full AS text FROM system.tables WHERE database = currentDatabase() AND name = '${table}'`,
  );
  // Changing it makes the server look at every part, so it is done only when it changes.
  if (row?.text.includes(`toIntervalDay(${days})`) === true) return;
  await clickHouse.run(`ALTER TABLE ${table} MODIFY TTL toDate(at) + toIntervalDay(${days})`);
}
