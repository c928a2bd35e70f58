/**
 * Counting from Kafka into ClickHouse, by two machines that share nothing else. The small test has one broker, because
 * kafka-counting.test.ts tests three; at full size there are three.
 */
import { afterAll, afterEach, beforeAll, beforeEach, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { systemClock } from '../../src/base/clock.ts';
import { link, ownerOf } from '../../src/clicks/fake-warehouse-truth.ts';
import {
  type ClickHouseWarehouse,
  createClickHouseWarehouse,
} from '../../src/clicks/warehouses/clickhouse/warehouse.ts';
import type { ClickHouse } from '../../src/engines/clickhouse/clickhouse.ts';
import { sharedClickHouse } from '../kit/engines/clickhouse.ts';
import { patientClickHouse } from '../kit/engines/clickhouse-client.ts';
import { describeWithEngine } from '../kit/engines/describe-with-engine.ts';
import {
  type KafkaClusterEngine,
  type KafkaEngine,
  startKafka,
  startKafkaCluster,
} from '../kit/engines/kafka.ts';
import { expectSafe } from '../kit/expect-safe.ts';
import { heavyTestMaxMs, scaled } from '../kit/scale.ts';
import { temporaryFolder } from '../kit/terse-process.ts';
import { countThroughFaults, partitions } from './counting-through-faults.ts';

/** Clicks of the samples are months old, and must not be dropped while they are counted. */
const days = 3_650;
const keeping = { TERSE_CLICK_DAYS: String(days), TERSE_MINUTE_DAYS: String(days) };

let statsUrl: string;
let clickHouse: ClickHouse;
let warehouse: ClickHouseWarehouse;
let dataFolders: string[];
beforeEach(async () => {
  statsUrl = (await sharedClickHouse()).freshDatabaseUrl();
  clickHouse = patientClickHouse(statsUrl);
  warehouse = createClickHouseWarehouse({ clickHouse, clock: systemClock, clickDays: days });
  dataFolders = [temporaryFolder(), temporaryFolder()];
});
afterEach(() => {
  for (const folder of dataFolders) rmSync(folder, { recursive: true, force: true });
});

async function countInClickHouse(
  streamUrl: string,
  strikes: readonly (() => Promise<void>)[],
): Promise<void> {
  const acknowledged = await countThroughFaults({
    streamUrl,
    killCount: scaled(1, 20),
    strikes,
    dataFolders,
    env: { TERSE_STATS: statsUrl, ...keeping },
    async countedInAll() {
      const ledger = await warehouse.ledger(0, Number.MAX_SAFE_INTEGER);
      return ledger.reduce((sum, { counted }) => sum + counted, 0);
    },
    async countedOf(code) {
      const { clicks, bots } = await warehouse.total(link(code, ownerOf(code)));
      return clicks + bots;
    },
  });
  // Each table accepts blocks separately, so each of them could have missed one or counted it twice.
  const ofLinks = "WHERE position(scope, ':') = 0";
  const [sums] = await clickHouse.rows(`
    SELECT
      (SELECT count() FROM clicks_0) AS clicks,
      (SELECT uniqExact(producer, sequence) FROM clicks_0) AS different,
      (SELECT sum(clicks + bots) FROM minutes_0 ${ofLinks}) AS minutes,
      (SELECT sum(clicks + bots) FROM quarters_0 ${ofLinks}) AS quarters,
      (SELECT sum(clicks) FROM dimensions_0 ${ofLinks} AND dimension = 'device')
        + (SELECT sum(bots) FROM quarters_0 ${ofLinks}) AS dimensions`);
  expectSafe(sums).toEqual({
    clicks: acknowledged,
    different: acknowledged,
    minutes: acknowledged,
    quarters: acknowledged,
    dimensions: acknowledged,
  });
}

const withClickHouse = (title: string, body: () => void): void =>
  describeWithEngine('kafka', title, () => describeWithEngine('clickhouse', 'into ClickHouse', body), {
    own: true,
  });

const onOneBroker = (): void => {
  let engine: KafkaEngine;
  beforeAll(async () => {
    engine = await startKafka();
  });
  afterAll(() => engine?.stop());

  test(
    'a counter is killed and so is the broker: every table has what was acknowledged, exactly',
    () =>
      countInClickHouse(engine.freshTopicUrl({ partitions }), [
        async () => {
          await engine.kill();
          await engine.restart();
        },
      ]),
    heavyTestMaxMs,
  );
};

const onThreeBrokers = (): void => {
  let cluster: KafkaClusterEngine;
  beforeAll(async () => {
    cluster = await startKafkaCluster();
  }, heavyTestMaxMs);
  afterAll(() => cluster?.stop());

  test(
    'counters are killed, a broker is restarted and one of three killed: every table has what was acknowledged, exactly',
    () =>
      countInClickHouse(cluster.freshTopicUrl({ partitions }), [
        () => cluster.brokers[1]!.restart(),
        () => cluster.brokers[0]!.kill(),
      ]),
    heavyTestMaxMs,
  );
};

withClickHouse('counting out of Kafka', scaled(onOneBroker, onThreeBrokers));
