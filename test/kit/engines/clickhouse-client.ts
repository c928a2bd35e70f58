/** Terse's own client of a ClickHouse for tests. It waits longer than Terse would: a test machine may be busy. */
import { systemClock } from '../../../src/base/clock.ts';
import { parseAddress } from '../../../src/engines/clickhouse/address.ts';
import { ClickHouse } from '../../../src/engines/clickhouse/clickhouse.ts';

const timeoutMs = 120_000;

export function patientClickHouse(url: string): ClickHouse {
  return new ClickHouse({
    address: parseAddress(url),
    clock: systemClock,
    readMaxMs: timeoutMs,
    writeMaxMs: timeoutMs,
  });
}
