/** What the tests of the warehouse in ClickHouse share: databases of their own, batches, and everything they say. */
import { sharedClickHouse } from '../../../../test/kit/engines/clickhouse.ts';
import { patientClickHouse } from '../../../../test/kit/engines/clickhouse-client.ts';
import { type Clock, systemClock } from '../../../base/clock.ts';
import { seededRandom } from '../../../base/random.ts';
import { parseAddress } from '../../../engines/clickhouse/address.ts';
import { ClickHouse, type Insert, type RequestOptions } from '../../../engines/clickhouse/clickhouse.ts';
import { type SampleClick, samplesStart } from '../../batch-samples.ts';
import {
  allLists,
  comparable,
  link,
  partition,
  randomTraffic,
  sampledRange,
} from '../../fake-warehouse-truth.ts';
import type { LogBatch } from '../../log.ts';
import { grainMs, type Question, type Scope } from '../../warehouse.ts';
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
const owner: Scope = { kind: 'owner', ownerId: 'acc_1' };
const tag: Scope = { kind: 'tag', ownerId: 'acc_2', tag: 'b' };
const scopes: readonly Scope[] = [link('link0'), link('link2', null), owner, tag];

const plain = { from, to, starts: [], filters: [], breakdowns: [] };
/** Reads quarter hours and the ranks of a day, and lists of a day and of the quarter hours beside it. */
const ofLists = {
  ...plain,
  from: samplesStart,
  to: samplesStart + 2 * grainMs.day,
  breakdowns: allLists,
};
/** Buckets that end between quarter hours are added up from minutes. */
const ofMinutes = { ...plain, starts: [from, samplesStart + grainMs.minute, samplesStart + grainMs.day] };
const ofSingles = {
  ...plain,
  filters: [{ dimension: 'country', values: ['DE', ''], isExcluded: false } as const],
  breakdowns: allLists.slice(0, 5),
};
/** An insert adds a part to a table or none, so one scope shows whether a table has it; the others ask for less. */
const questions: readonly Question[] = [
  ...[ofLists, ofMinutes, ofSingles].map(each => ({ ...each, scopes: [owner] })),
  ...[link('link0'), link('link2', null), tag].map(scope => ({ ...ofLists, scopes: [scope] })),
];

/** All that a warehouse knows, as far as one table can differ from another. */
export async function everythingIn(warehouse: ClickHouseWarehouse) {
  return {
    answers: await Promise.all(questions.map(async question => comparable(await warehouse.answer(question)))),
    totals: await warehouse.totals(scopes),
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
