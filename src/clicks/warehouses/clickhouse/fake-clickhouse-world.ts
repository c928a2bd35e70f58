/** What the tests of the warehouse in ClickHouse share: databases of their own, batches, and everything they say. */
import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse, type Insert, type RequestOptions } from '../../../engines/clickhouse/clickhouse.ts';
import type { SampleClick } from '../../batch-samples.ts';
import {
  everythingIn as answersOf,
  link,
  partition,
  randomTraffic,
  sampledRange,
} from '../../fake-warehouse-truth.ts';
import type { LogBatch } from '../../log.ts';
import type { Scope } from '../../warehouse.ts';
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
export const partitionOf = (
  clicks: readonly SampleClick[],
  batchSize: number,
  name = 'clicks/0',
): LogBatch[] => partition(name, clicks, batchSize, 'host/0');

/** Of two days, so that every table is inserted into in several parts. */
export const sampleClicks = (seed: number, count: number): SampleClick[] =>
  randomTraffic(seededRandom(seed), count, 2);

const { from, to } = sampledRange;
const scopes: readonly Scope[] = [
  link('link0'),
  link('link2', null),
  { kind: 'owner', ownerId: 'acc_1' },
  { kind: 'tag', ownerId: 'acc_2', tag: 'b' },
];

/** All that a warehouse knows, as far as one table can differ from another. */
export async function everythingIn(warehouse: ClickHouseWarehouse) {
  return {
    scopes: await answersOf(warehouse, scopes),
    ledger: await warehouse.ledger(from, to),
    producers: await warehouse.producers(),
    positions: await warehouse.positions(),
    hours: await warehouse.hourSums(from, to),
  };
}

/** `what` is a statement; of an insert of bytes, its beginning. */
type Happens = (when: 'before' | 'after', what: string) => void | Promise<void>;

const timeoutMs = 120_000;

/** A connection to a real ClickHouse that runs a hook before or after every change. */
export class EventfulClickHouse extends ClickHouse {
  readonly #happens: Happens;

  constructor(url: string, happens: Happens) {
    super({ address: parseAddress(url), clock: systemClock, readMaxMs: timeoutMs, writeMaxMs: timeoutMs });
    this.#happens = happens;
  }

  override async run(statement: string, options?: RequestOptions): Promise<void> {
    await this.#happens('before', statement.trim());
    await super.run(statement, options);
    await this.#happens('after', statement.trim());
  }

  override async insert(insert: Insert): Promise<void> {
    const what = `INSERT INTO ${insert.table} `;
    await this.#happens('before', what);
    await super.insert(insert);
    await this.#happens('after', what);
  }
}
