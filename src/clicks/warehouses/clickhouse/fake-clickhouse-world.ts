/** What the tests of the warehouse in ClickHouse share: databases of their own, batches, and everything they say. */
import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import type { ClickHouse } from '../../../engines/clickhouse/clickhouse.ts';
import { randomClicks, type SampleClick, sampleBatch, samplesStart } from '../../batch-samples.ts';
import type { LogBatch } from '../../log.ts';
import { grainMs, type Scope } from '../../warehouse.ts';
import { type ClickHouseWarehouse, createClickHouseWarehouse } from './warehouse.ts';

export interface World {
  readonly url: string;
  readonly clickHouse: ClickHouse;
  readonly warehouse: ClickHouseWarehouse;
  /** Another process on the same data, with a clock of its own if it is given one. */
  another(through?: ClickHouse, clock?: Clock): ClickHouseWarehouse;
}

/** Longer ago than the clicks of any test. */
export const clickDays = 20_000;

export async function openWorld(address?: string): Promise<World> {
  const url = address ?? (await sharedClickHouse()).freshDatabaseUrl();
  const clickHouse = patientClickHouse(url);
  const another = (through = clickHouse, clock: Clock = systemClock): ClickHouseWarehouse =>
    createClickHouseWarehouse({ clickHouse: through, clock, clickDays });
  const warehouse = another();
  await warehouse.ready();
  return { url, clickHouse, warehouse, another };
}

/** Batches of one partition, one behind the other. */
export function partitionOf(
  clicks: readonly SampleClick[],
  batchSize: number,
  name = 'clicks/0',
): LogBatch[] {
  const batches: LogBatch[] = [];
  for (let start = 0; start < clicks.length; start += batchSize) {
    const batch = sampleBatch(start + 1, clicks.slice(start, start + batchSize));
    batches.push({ partition: name, from: start, to: start + batch.at.length, producer: 'host/0', batch });
  }
  return batches;
}

/** Of two days, so that every table is inserted into in several parts. */
export const sampleClicks = (seed: number, count: number): SampleClick[] =>
  randomClicks(seededRandom(seed), count, 2);

const from = samplesStart - grainMs.day;
const to = samplesStart + 5 * grainMs.day;
const scopes: readonly Scope[] = [
  { kind: 'link', code: 'link0' },
  { kind: 'link', code: 'link5' },
  { kind: 'owner', ownerId: 'acc_1' },
  { kind: 'tag', ownerId: 'acc_2', tag: 'a' },
];

/** All that a warehouse knows, as far as one table can differ from another. */
export async function everythingIn(warehouse: ClickHouseWarehouse) {
  return {
    scopes: await Promise.all(
      scopes.map(async scope => ({
        minutes: await warehouse.series(scope, 'minute', from, to),
        quarters: await warehouse.series(scope, 'quarter', from, to),
        uniques: await warehouse.uniques([scope], from, to),
        dimensions: await warehouse.dimensions([scope], from, to, 100),
        total: await warehouse.total(scope),
      })),
    ),
    ledger: await warehouse.ledger(from, to),
    producers: await warehouse.producers(),
    positions: await warehouse.positions(),
    hours: await warehouse.hourSums(from, to),
  };
}
